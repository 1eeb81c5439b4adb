"""Tests of the command line; ``TOY`` is a task for them, see ``toy_task``."""

from corpuscle.catalogue import Method, Task

TOY = Task(
    "A task for tests.",
    "a task for tests",
    package="tests.cli",
    verbs="tests.cli.toy_task",
    page="toy.md",
    methods={
        "plain": Method("tests.cli.toy_task:PlainSettings", "tests.cli.toy_task:PlainModel", "nothing special"),
        "fancy": Method("tests.cli.toy_task:FancySettings", "tests.cli.toy_task:FancyModel", "all the knobs"),
    },
    kinds={"toy.plain": "tests.cli.toy_task:PlainModel", "toy.fancy": "tests.cli.toy_task:FancyModel"},
    kernels=False,
)
