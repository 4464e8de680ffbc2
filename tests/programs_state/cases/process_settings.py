"""What a program sets in its own process: environment, interpreter, system."""

import builtins
import codecs
import contextvars
import decimal
import gc
import locale
import logging
import mimetypes
import os
import shutil
import sys
import tempfile
import threading
import time
import types
import warnings
from pathlib import Path

from bits import say
from cases import case, looked, main


@case(workers=2, hosts=2, always=True)
def environment_changed_between_epochs():
    looked(
        lambda i: os.environ.get("OF_THIS_PROGRAM", "none"),
        3,
        before=lambda epoch: os.environ.__setitem__("OF_THIS_PROGRAM", f"value {epoch}"),
    )


@case(hosts=2)
def environment_changed_between_loaders():
    for value in ("first", "second"):
        os.environ["OF_THIS_PROGRAM"] = value
        looked(lambda i: os.environ["OF_THIS_PROGRAM"])
    del os.environ["OF_THIS_PROGRAM"]
    looked(lambda i: os.environ.get("OF_THIS_PROGRAM", "none"))


@case(hosts=2)
def environment_as_a_whole():
    ours = {key: value for key, value in os.environ.items() if not key.startswith("HEADRACE")}
    looked(lambda i: str({key: os.environ.get(key) for key in ours} == ours))


@case()
def environment_set_by_a_sample():
    def look(i):
        before = os.environ.get("LAST", "none")
        os.environ["LAST"] = str(i)
        return before

    looked(look, 2)


@case(workers=2, hosts=2, always=True)
def hashes_of_strings():
    names = [f"name {i}" for i in range(8)]
    here = [hash(name) for name in names]
    looked(lambda i: str(hash(names[i]) == here[i]))


@case(hosts=2)
def order_of_a_set_of_strings():
    here = list({f"name {i}" for i in range(50)})
    looked(lambda i: str(list({f"name {i}" for i in range(50)}) == here))


@case(hosts=2)
def arguments_of_the_program():
    sys.argv = ["train.py", "--lr", "3e-4"]
    looked(lambda i: str(sys.argv))


@case()
def file_of_the_main_module():
    looked(lambda i: os.path.basename(str(sys.modules["__main__"].__file__)))


@case(hosts=2)
def time_zone():
    os.environ["TZ"] = "Asia/Kathmandu"
    time.tzset()
    looked(lambda i: time.strftime("%H:%M", time.localtime(86400 * i)))


@case()
def folder_of_temporary_files():
    own = tempfile.tempdir = tempfile.mkdtemp()  # of a short name: sockets of torch lie in it
    looked(lambda i: str(tempfile.gettempdir() == own))
    shutil.rmtree(own, ignore_errors=True)


@case(hosts=2)
def type_of_a_file_name():
    mimetypes.add_type("image/of-this-program", ".otp")
    looked(lambda i: mimetypes.guess_type("a.otp")[0] or "none")


@case(hosts=2)
def codec_registered():
    plain = codecs.lookup("ascii")
    codecs.register(lambda name: plain if name == "of_this_program" else None)
    looked(lambda i: b"abc".decode("of_this_program"))


@case()
def error_handler_of_codecs():
    codecs.register_error("of_this_program", lambda error: ("?!", error.end))
    looked(lambda i: b"a\xffb".decode("ascii", "of_this_program"))


@case(hosts=2)
def module_made_at_run_time():
    module = types.ModuleType("of_this_program")
    module.value = 42
    sys.modules["of_this_program"] = module

    def look(i):
        import of_this_program

        return of_this_program.value + i

    looked(look)


@case()
def module_found_on_an_added_path():
    Path("more").mkdir()
    Path("more", "found_there.py").write_text("value = 7\n")
    sys.path.insert(0, os.path.abspath("more"))

    def look(i):
        import found_there

        return found_there.value + i

    looked(look)


@case(hosts=2)
def builtins_changed():
    builtins.profile = lambda function: function
    builtins.of_this_program = 3
    looked(lambda i: of_this_program + i)  # noqa: F821


@case()
def print_replaced():
    builtins.print = lambda *words, **named: say("printed " + " ".join(map(str, words)))

    def look(i):
        if i == 1:
            print("sample", i)
        return i

    looked(look)


@case(hosts=2)
def recursion_limit():
    sys.setrecursionlimit(4321)
    looked(lambda i: sys.getrecursionlimit())


@case()
def switch_interval():
    sys.setswitchinterval(0.25)
    looked(lambda i: sys.getswitchinterval())


@case()
def hooks_of_the_interpreter():
    sys.excepthook = lambda *error: say("hook")
    sys.displayhook = lambda value: None
    plain = sys.excepthook
    looked(lambda i: str((sys.excepthook is plain, sys.displayhook is sys.__displayhook__)))


@case()
def garbage_collector():
    gc.disable()
    gc.set_threshold(123, 4, 5)
    looked(lambda i: str((gc.isenabled(), gc.get_threshold())))


@case(hosts=2, always=True)
def decimal_context():
    decimal.getcontext().prec = 5
    decimal.getcontext().rounding = decimal.ROUND_UP
    looked(lambda i: str(decimal.Decimal(1) / decimal.Decimal(3 + i)))


@case(hosts=2)
def numeric_locale():
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
    looked(lambda i: str((locale.setlocale(locale.LC_CTYPE), locale.getlocale())))


@case(hosts=2, always=True)
def warnings_that_are_errors():
    warnings.simplefilter("error")

    def look(i):
        if i == 5:
            warnings.warn("of this sample", UserWarning, stacklevel=1)
        return i

    looked(look)


@case()
def warnings_shown_elsewhere():
    warnings.showwarning = lambda message, *rest: say(f"shown {message}")

    def look(i):
        if i == 0:  # before the first batch is there
            warnings.warn("of this sample", UserWarning, stacklevel=1)
        return i

    looked(look)


@case()
def warning_seen_before():
    warnings.filterwarnings("once", "of this program")
    warnings.showwarning = lambda message, *rest: say(f"shown {message}")
    warnings.warn("of this program", stacklevel=1)
    looked(lambda i: (i == 0 and warnings.warn("of this program", stacklevel=1)) or i)


@case()
def logging_configured():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s of ours: %(message)s")
    logging.addLevelName(25, "NOTE")
    log = logging.getLogger("of.this.program")
    log.setLevel(25)
    looked(lambda i: str((log.isEnabledFor(20), logging.getLevelName(25), len(log.root.handlers))))


@case()
def lines_of_a_logger_in_a_file():
    logging.basicConfig(filename="log.txt", level=logging.INFO)
    log = logging.getLogger("samples")
    looked(lambda i: log.info("sample %d", i) or i)
    say(str(sorted(Path("log.txt").read_text().splitlines())))


CONTEXT = contextvars.ContextVar("of_this_program", default="default")
LOCAL = threading.local()


@case()
def context_variable():
    CONTEXT.set("set")
    looked(lambda i: CONTEXT.get())


@case()
def local_of_the_main_thread():
    LOCAL.value = "set"
    looked(lambda i: getattr(LOCAL, "value", "none"))


@case()
def clock_replaced():
    time.time = lambda: 1e9
    looked(lambda i: time.time() + i)


@case()
def standard_output_replaced():
    class Lines:
        def write(self, text):
            say(f"written {text!r}")

        def flush(self):
            pass

    sys.stdout = Lines()
    looked(lambda i: (i == 3 and sys.stdout.write("three")) or i)


if __name__ == "__main__":
    main()
