#pragma once

#include <sqlite3.h>

#include <condition_variable>
#include <mutex>

#include "base/check.h"

namespace headrace::coordinator {

// For tests: while it lives, newly opened databases are on a disk that may hang. What waits for it goes
// on after Answer. One at a time; it outlives the databases.
class HungDisk {
 public:
  HungDisk() {
    system_ = sqlite3_vfs_find(nullptr);
    vfs_ = *system_;
    vfs_.zName = "hung-disk";
    vfs_.xOpen = Open;
    HR_CHECK(sqlite3_vfs_register(&vfs_, /*makeDflt=*/1) == SQLITE_OK);
    hangs_ = false;
  }
  HungDisk(const HungDisk&) = delete;
  HungDisk& operator=(const HungDisk&) = delete;
  ~HungDisk() {
    Answer();
    sqlite3_vfs_unregister(&vfs_);
  }
  static void Hang() {
    const std::lock_guard lock(mutex_);
    hangs_ = true;
  }
  static void Answer() {
    {
      const std::lock_guard lock(mutex_);
      hangs_ = false;
    }
    answers_.notify_all();
  }

 private:
  static int Open(sqlite3_vfs* /*vfs*/, sqlite3_filename name, sqlite3_file* file, int flags,
                  int* out_flags) {
    const int rc = system_->xOpen(system_, name, file, flags, out_flags);
    if (rc != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0) return rc;
    log_ = *file->pMethods;
    sync_ = log_.xSync;
    log_.xSync = [](sqlite3_file* log, int how) {
      {
        std::unique_lock lock(mutex_);
        answers_.wait(lock, [] { return !hangs_; });
      }
      return sync_(log, how);
    };
    file->pMethods = &log_;
    return rc;
  }

  static inline sqlite3_vfs* system_ = nullptr;
  static inline sqlite3_io_methods log_{};
  static inline int (*sync_)(sqlite3_file*, int) = nullptr;
  static inline std::mutex mutex_;
  static inline std::condition_variable answers_;
  static inline bool hangs_ = false;
  sqlite3_vfs vfs_{};
};

}  // namespace headrace::coordinator
