"""The workbench: a language pack, or one model, in the browser. Nothing leaves the machine.

- ``serve(path)``: the server; ``app``: its endpoints, one for each view of a model (see ``corpuscle.verbs``);
- ``served_models``: what can be asked, and how; ``pool``, ``worker``: processes that answer;
- ``guard``: who may ask, and how much;
- ``learning_loop``, ``intake``, ``annotations``: files, corrections, learning again;
- ``page``: the page, plain HTML, CSS and modules of JavaScript, served as they are.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.web.server import serve

__all__, __getattr__, __dir__ = contents(__name__, __file__)
