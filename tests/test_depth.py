"""Classes are flat: from ``object`` to a model there are at most four levels of ours."""

import importlib
import inspect
import pkgutil

import corpuscle
from corpuscle.errors import MissingExtra

MOST = 4
EXTRAS = {"torch", "triton", "onnx", "onnxruntime", "dask", "distributed", "fastapi", "uvicorn"}


def depth(kind):
    """How many classes of ours there are from ``object`` to a class."""
    ours = [depth(base) for base in kind.__bases__ if base.__module__.startswith("corpuscle")]
    return 1 + max(ours, default=0)


def test_no_class_is_deeper_than_four_levels():
    found = {}
    for place in pkgutil.walk_packages(corpuscle.__path__, "corpuscle."):
        if place.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(place.name)
        except MissingExtra:
            continue
        except ModuleNotFoundError as error:
            assert error.name in EXTRAS, error
            continue
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == place.name:
                found[f"{place.name}.{kind.__qualname__}"] = depth(kind)
    assert {name: levels for name, levels in found.items() if levels > MOST} == {}
    assert len(found) > 500
