#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "dataworker/source/core/source_fixture.h"

// For tests: the Python half of a stage without torch.
namespace headrace::dataworker {

// Answers a batch with "<pid> <lane> <state>" and puts the bytes 1, 2, 3 into the slot. Keys below
// 0: -1 crashes, -2 raises, -3 takes 5000 bytes, -4 names a buffer outside of the slot, -5 kills
// the zygote, -6 waits until the file "go" is in the import path, -7 takes 512 MiB,
// -8 ends the lane,
// -10 reads the file "sample" of the import path, -11 computes for its second key, in ms,
// -12 is seen to change what lasts.
// The file "runs" there gets a line with the key for each batch that ran, "bases" one with the pid
// for each interpreter that was started. Bundles: "base ..." says what comes of their imports,
// anything else is why it can't be loaded.
inline constexpr char kFakeStage[] = R"python(
import contextlib, ctypes, json, mmap, os, signal, socket, sys, threading, time
sys.path.insert(0, SOURCE)  # replaced, as FOLDER is
from stage import wire

children = {}  # pid -> number

def serve(sock):
    memory = None
    while True:
        kind, parts, fds = wire.receive(sock)
        if kind == wire.ARENA:
            memory = mmap.mmap(fds[0], os.fstat(fds[0]).st_size)
            continue
        began = time.process_time_ns()
        r = wire.Request.of(parts, fds)
        key = r.keys[0]
        with open(FOLDER + "/runs", "a") as runs:
            runs.write("%d\n" % key)
        if key == -1:
            os.kill(os.getpid(), signal.SIGKILL)
        if key == -5:
            os.kill(os.getppid(), signal.SIGKILL)
            os._exit(1)
        while key == -6 and not os.path.exists(FOLDER + "/go"):
            time.sleep(0.001)
        if key == -10:
            with open(FOLDER + "/sample", "rb") as sample:
                sample.read()
        while key == -11 and time.process_time_ns() < began + r.keys[1] * 1000000:
            pass
        raised = b""
        if key == -7:
            try:
                bytearray(1 << 29)
            except MemoryError:
                raised = b"MemoryError"
        outcome, needed, body, at, size, error = wire.MADE, 3, b"", 0, 3, b""
        if key == -2 or raised:
            outcome, error = wire.RAISED, raised or b"pickled error"
        elif key == -3 and r.slot_bytes < 5000:
            outcome, needed = wire.TOO_SMALL, 5000
        elif key == -4:
            at = r.slot_bytes - 1
        elif key == -8:
            outcome, size, needed = wire.LANE_ENDED, 0, 0
        else:
            memory[r.slot_offset : r.slot_offset + 3] = b"\1\2\3"
            body = b"%d %d %s" % (os.getpid(), r.lane, r.state)
        if body and os.path.exists(FOLDER + "/pickles"):  # a client reads nothing else
            body = b"\x80\x05\x8c%c%s." % (len(body), body)
        wire.send(sock, wire.DONE, parts[0], wire.numbers(outcome), wire.numbers(needed), body,
                  wire.numbers(at), wire.numbers(size), r.state + b"+", error, b"printed", b"warned",
                  wire.numbers(9), wire.numbers(0 if key == -8 else len(r.keys)),
                  wire.numbers(1234567), b"x was 0 and is 1" if key == -12 else b"")

def how(status):
    if status & 127 == 0:
        return b"its Python process has ended"
    return b"its Python process was killed by signal: " + signal.strsignal(status & 127).encode()

def forks(control, number, fds, run, how, silent=False):
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # with its parent
        control.close()
        try:
            run()
        finally:
            os._exit(0)
    for fd in fds:
        os.close(fd)
    if not silent:
        wire.send(control, wire.FORKED, number, wire.numbers(pid))
    def watch():
        _, status = os.waitpid(pid, 0)
        children.pop(pid)
        with contextlib.suppress(OSError):
            wire.send(control, wire.ENDED, number, how(pid, status))
    children[pid] = number
    threading.Thread(target=watch, daemon=True).start()

def zygote(control, bundle):
    children.clear()
    text = os.pread(bundle, 100, 0).decode()
    problem = "" if text.startswith("base ") else text
    wire.send(control, wire.READY, problem.encode())
    while True:
        kind, parts, fds = wire.receive(control)
        forks(control, parts[0], fds, lambda: serve(socket.socket(fileno=fds[0])),
              lambda pid, status: b"DataLoader worker (pid %d) is gone" % pid)

def base(control):
    while True:
        kind, parts, fds = wire.receive(control)
        if kind == wire.END:
            for pid in [pid for pid, number in list(children.items()) if number == parts[0]]:
                with contextlib.suppress(ProcessLookupError):  # another thread waits for it
                    os.kill(pid, signal.SIGKILL)
        if kind != wire.SESSION:
            continue
        alone = json.loads(parts[1])["alone"]
        text = os.pread(fds[1], 100, 0)
        run = lambda: zygote(socket.socket(fileno=fds[0]), fds[1])
        if text == b"base dies" and not alone:
            os.kill(os.getpid(), signal.SIGKILL)
        elif (alone or text == b"base has threads") and children:
            wire.send(control, wire.UNFIT, parts[0])
            for fd in fds:
                os.close(fd)
        elif alone or text == b"base has threads":
            wire.send(control, wire.BECAME, parts[0])
            control.close()
            run()
        else:
            forks(control, parts[0], fds, run, lambda pid, status: how(status),
                  text == b"base is slow to tell")

with open(FOLDER + "/bases", "a") as file:
    file.write("%d\n" % os.getpid())
try:
    base(socket.socket(fileno=int(sys.argv[1])))
except (EOFError, ConnectionError):
    os._exit(0)
)python";

// Writes it where `python3 -m headrace.stage.host` with this import path finds it.
inline void WriteFakeStage(const TemporaryDirectory& directory) {
  std::filesystem::create_directories(directory.path() + "/headrace/stage");
  directory.Write("headrace/__init__.py", "");
  directory.Write("headrace/stage/__init__.py", "");
  std::string source = kFakeStage;
  const auto replace = [&](const std::string& word, const std::string& text) {
    for (auto at = source.find(word); at != std::string::npos; at = source.find(word, at)) {
      source.replace(at, word.size(), "'" + text + "'");
      at += text.size();
    }
  };
  replace("SOURCE", HEADRACE_SOURCE_DIR "/dataworker/stage/python/headrace");
  replace("FOLDER", directory.path());
  directory.Write("headrace/stage/host.py", source);
}

// Returns what it has written into a file there.
inline std::vector<std::int64_t> FakeStageNumbers(const TemporaryDirectory& directory,
                                                  const std::string& name) {
  std::vector<std::int64_t> numbers;
  std::ifstream file(directory.path() + "/" + name);
  for (std::int64_t number = 0; file >> number;) numbers.push_back(number);
  return numbers;
}

}  // namespace headrace::dataworker
