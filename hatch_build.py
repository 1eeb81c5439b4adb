"""A wheel with machine code: ``CORPUSCLE_MACHINE_CODE=FOLDER pip wheel .`` puts a folder of compiled kernels into it,
as ``.ci/release`` does. Without that variable the wheel is pure Python; kernels compile where they are first used."""

import os
import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCode(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        folder = os.environ.get("CORPUSCLE_MACHINE_CODE")
        if not folder or self.target_name != "wheel":
            return
        for path in sorted(Path(folder).rglob("*.nb[ic]")):  # Numba's indexes and what was compiled
            place = path.relative_to(folder).as_posix()
            build_data["force_include"][str(path)] = f"corpuscle/machine_code/x86-64-v3/{place}"
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-manylinux_2_28_x86_64"
