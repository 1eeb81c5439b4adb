"""The workbench: a language pack, or one model, in the browser. Nothing leaves the machine.

- ``serve(path)``: the server;
- ``verbs``: one table of what can be asked, from which endpoints, checks and forms follow;
- ``guard``: who may ask, and how much; ``pool``, ``worker``: processes that answer;
- ``page``: the page, plain HTML, CSS and modules of JavaScript, served as they are.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.web.server import serve

__all__, __getattr__, __dir__ = contents(__name__, __file__)
