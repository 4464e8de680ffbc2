"""Programs that change settings of their process and of libraries: the same batches, draws and errors."""

from support.same_lines import SameLines


class TestSettings(SameLines):
    themes = (
        "torch_settings",
        "picture_settings",
        "process_settings",
        "library_settings",
        "system_settings",
        "script_code",
        "replaced_parts",
        "hooks_and_guards",
    )
