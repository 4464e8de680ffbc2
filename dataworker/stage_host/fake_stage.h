#pragma once

#include <filesystem>
#include <string>

#include "dataworker/source/core/source_fixture.h"

// For tests: the Python half of a stage without torch.
namespace headrace::dataworker {

// Answers a batch with "<pid> <lane> <state>" and puts the bytes 1, 2, 3 into the slot. Keys below
// 0: -1 crashes, -2 raises, -3 takes 5000 bytes, -4 names a buffer outside of the slot, -5 kills
// the zygote, -6 waits until the file "go" is in the import path, -7 takes 512 MiB,
// -8 ends the lane.
// The file "runs" there gets a line with the key for each batch that ran.
inline constexpr char kFakeStage[] = R"python(
import mmap, os, signal, socket, sys, threading, time
sys.path.insert(0, SOURCE)  # replaced, as FOLDER is
import stage_wire as wire

def serve(sock):
    memory = None
    while True:
        kind, parts, fds = wire.receive(sock)
        if kind == wire.ARENA:
            memory = mmap.mmap(fds[0], os.fstat(fds[0]).st_size)
            continue
        r = wire.Request.read(fds[0])
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
        wire.send(sock, wire.DONE, parts[0], wire.numbers(outcome), wire.numbers(needed), body,
                  wire.numbers(at), wire.numbers(size), r.state + b"+", error, b"printed",
                  wire.numbers(9), wire.numbers(0 if key == -8 else len(r.keys)))

control = socket.socket(fileno=int(sys.argv[1]))
kind, (settings,), (bundle,) = wire.receive(control)
problem = os.pread(bundle, 100, 0).decode()
state = problem if problem.startswith("keeps") else ""
wire.send(control, wire.READY, b"" if state else problem.encode(), state.encode())
try:
    while True:
        kind, parts, fds = wire.receive(control)
        pid = os.fork()
        if pid == 0:
            control.close()
            try:
                serve(socket.socket(fileno=fds[0]))
            finally:
                os._exit(0)
        os.close(fds[0])
        wire.send(control, wire.FORKED, parts[0], wire.numbers(pid))
        def watch(pid=pid, host=parts[0]):
            _, status = os.waitpid(pid, 0)
            wire.send(control, wire.ENDED, host, b"DataLoader worker (pid %d) is gone" % pid)
        threading.Thread(target=watch, daemon=True).start()
except (EOFError, ConnectionError):
    os._exit(0)
)python";

// Puts it where `python3 -m headrace.stage_host` with this import path finds it.
inline void WriteFakeStage(const TemporaryDirectory& directory) {
  std::filesystem::create_directory(directory.path() + "/headrace");
  directory.Write("headrace/__init__.py", "");
  std::string source = kFakeStage;
  const auto replace = [&](const std::string& word, const std::string& text) {
    for (auto at = source.find(word); at != std::string::npos; at = source.find(word, at)) {
      source.replace(at, word.size(), "'" + text + "'");
      at += text.size();
    }
  };
  replace("SOURCE", HEADRACE_SOURCE_DIR "/trainer_client/python/headrace");
  replace("FOLDER", directory.path());
  directory.Write("headrace/stage_host.py", source);
}

}  // namespace headrace::dataworker
