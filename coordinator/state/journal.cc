#include "coordinator/state/journal.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/buffer.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/unique_fd.h"
#include "coordinator/state/journal_codec.h"
#include "coordinator/state/wal_check.h"

namespace headrace::coordinator {
namespace {

// 2: has hold_back and forget_held_back, at which a build of version 1 would stop as at a damaged one.
constexpr int kSchemaVersion = 2;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
struct FinalizeStatement {
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

Status SqliteStatus(sqlite3* db, const std::string& path, std::string_view what) {
  const int error = errno;  // the last system call that failed
  const int rc = sqlite3_errcode(db);
  std::string message = path + ": " + std::string(what) + ": " + sqlite3_errmsg(db);
  switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DataLoss(message +
                      "; move the file away to start without it (running jobs open "
                      "themselves again), or restore it from a copy");
    case SQLITE_FULL:
      return ResourceExhausted(message + "; free space there and start again");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      // SQLite's own message does not say why: a quota, `ulimit -f`, no rights.
      if (error != 0) message.append(" (").append(std::strerror(error)).append(")");
      return Unavailable(message +
                         "; make the directory writable, with space and within the limits of this "
                         "user, and start again");
    default:
      return Unavailable(std::move(message));
  }
}

Status Execute(sqlite3* db, const std::string& path, const char* sql) {
  errno = 0;
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return SqliteStatus(db, path, sql);
  }
  return Status::Ok();
}

Result<Statement> Prepare(sqlite3* db, const std::string& path, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &raw, nullptr) != SQLITE_OK) {
    return SqliteStatus(db, path, sql);
  }
  return Statement(raw);
}

// Makes the file, or takes its group's and everybody's rights away: it holds the tokens of jobs.
// SQLite gives its other files the mode of this one; those that a crash has left are tightened too.
Status KeepToOwner(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return {};  // SQLite says why
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string file = path + suffix;
    if (::chmod(file.c_str(), 0600) != 0 && errno != ENOENT) return ErrnoStatus(errno, file);
  }
  return {};
}

Result<Database> OpenDatabase(const std::string& path) {
  HR_RETURN_IF_ERROR(KeepToOwner(path));
  sqlite3* raw = nullptr;
  const int rc =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database db(raw);
  if (rc != SQLITE_OK) return SqliteStatus(db.get(), path, "open");
  HR_RETURN_IF_ERROR(Execute(db.get(), path, "PRAGMA journal_mode=WAL"));
  HR_RETURN_IF_ERROR(Execute(db.get(), path, "PRAGMA synchronous=FULL"));
  HR_TRY(Statement version, Prepare(db.get(), path, "PRAGMA user_version"));
  if (sqlite3_step(version.get()) != SQLITE_ROW) return SqliteStatus(db.get(), path, "version");
  const int found = sqlite3_column_int(version.get(), 0);
  if (found > kSchemaVersion) {
    return Unavailable(path + ": written by a newer release (journal version " +
                       std::to_string(found) + ", this build reads " +
                       std::to_string(kSchemaVersion) +
                       "); start that release, or use another "
                       "--state-dir");
  }
  version.reset();
  // The log begins anew. What a crash has left of a transaction would lie after what is written now,
  // and look like damage once the next crash tears one of those (CheckWal).
  if (sqlite3_wal_checkpoint_v2(db.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr) !=
      SQLITE_OK) {
    return SqliteStatus(db.get(), path, "checkpoint");
  }
  HR_RETURN_IF_ERROR(Execute(db.get(), path,
                             "CREATE TABLE IF NOT EXISTS updates("
                             "seq INTEGER PRIMARY KEY, body TEXT NOT NULL, hash INTEGER NOT NULL);"
                             "PRAGMA user_version=2"));
  return db;
}

// Chains the records: one that was changed, lost or moved breaks the chain after it.
std::uint64_t ChainHash(std::uint64_t previous, std::string_view body) {
  return HashBytes(AsBytes(body), previous);
}

struct Replayed {
  State state;
  std::int64_t last_seq = 0;
  std::int64_t records = 0;
  std::uint64_t hash = 0;
};

Status Damaged(const std::string& path, std::int64_t seq, const std::string& what) {
  return DataLoss(path + ": record " + std::to_string(seq) + " is damaged (" + what +
                  "); move the file away to start without it (running jobs open themselves "
                  "again), or restore it from a copy");
}

Result<Replayed> Replay(sqlite3* db, const std::string& path) {
  Replayed out;
  HR_TRY(Statement rows, Prepare(db, path, "SELECT seq, body, hash FROM updates ORDER BY seq"));
  int rc = SQLITE_OK;
  while ((rc = sqlite3_step(rows.get())) == SQLITE_ROW) {
    const std::int64_t seq = sqlite3_column_int64(rows.get(), 0);
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(rows.get(), 1));
    const std::string_view body(text ? text : "",
                                static_cast<std::size_t>(sqlite3_column_bytes(rows.get(), 1)));
    const auto hash = static_cast<std::uint64_t>(sqlite3_column_int64(rows.get(), 2));
    if (out.records > 0 && seq != out.last_seq + 1) return Damaged(path, seq, "a gap before it");
    out.hash = ChainHash(out.hash, body);
    if (out.hash != hash) return Damaged(path, seq, "checksum");
    Result<Update> update = DecodeUpdate(body);
    if (!update.ok()) return Damaged(path, seq, update.status().message());
    if (Status s = out.state.Apply(*update); !s.ok()) return Damaged(path, seq, s.message());
    out.last_seq = seq;
    ++out.records;
  }
  if (rc != SQLITE_DONE) return SqliteStatus(db, path, "read");
  return out;
}

class SqliteJournal final : public Journal {
 public:
  SqliteJournal(std::string path, UniqueFd lock, Database db, OnFailure on_failure)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        db_(std::move(db)),
        on_failure_(std::move(on_failure)) {}
  ~SqliteJournal() override { Stop(); }

  void Begin(std::int64_t last_seq, std::uint64_t hash) {
    seq_ = last_seq;
    hash_ = hash;
    thread_ = std::jthread([this] { Loop(); });
  }

  void Append(const std::vector<Update>& updates, std::function<void()> on_durable) override {
    Item item;
    for (const Update& update : updates) item.bodies.push_back(EncodeUpdate(update));
    item.on_durable = std::move(on_durable);
    records_ += static_cast<std::int64_t>(updates.size());
    waiting_ += static_cast<std::int64_t>(updates.size());
    Push(std::move(item));
  }

  void Compact(const std::vector<Update>& snapshot) override {
    Item item;
    item.replace = true;
    for (const Update& update : snapshot) item.bodies.push_back(EncodeUpdate(update));
    records_ = compacted_ = static_cast<std::int64_t>(snapshot.size());
    Push(std::move(item));
  }

  [[nodiscard]] std::int64_t waiting() const override { return waiting_; }
  [[nodiscard]] std::int64_t records() const override { return records_; }
  [[nodiscard]] bool compaction_due() const override {
    return records_ > std::max(kCompactAfter, 2 * compacted_);
  }

  void Stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Item {
    bool replace = false;
    std::vector<std::string> bodies;
    std::function<void()> on_durable;
  };

  void Push(Item item) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(item));
    }
    wake_.notify_one();
  }

  void Loop() {
    pthread_setname_np(pthread_self(), "hr-journal");
    bool failed = false;
    for (;;) {
      std::vector<Item> group;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        group.swap(queue_);
      }
      if (failed) continue;
      if (Status s = Commit(group); !s.ok()) {
        failed = true;
        if (on_failure_) on_failure_(s);
        continue;
      }
      for (const Item& item : group) {
        if (!item.replace) waiting_ -= static_cast<std::int64_t>(item.bodies.size());
        if (item.on_durable) item.on_durable();
      }
    }
  }

  Status Commit(const std::vector<Item>& group) {
    HR_RETURN_IF_ERROR(Execute(db_.get(), path_, "BEGIN IMMEDIATE"));
    for (const Item& item : group) {
      if (item.replace) {
        HR_RETURN_IF_ERROR(Execute(db_.get(), path_, "DELETE FROM updates"));
        hash_ = 0;
      }
      for (const std::string& body : item.bodies) HR_RETURN_IF_ERROR(Insert(body));
    }
    return Execute(db_.get(), path_, "COMMIT");
  }

  Status Insert(const std::string& body) {
    if (!insert_) {
      HR_TRY(insert_,
             Prepare(db_.get(), path_, "INSERT INTO updates(seq, body, hash) VALUES(?1, ?2, ?3)"));
    }
    hash_ = ChainHash(hash_, body);
    sqlite3_reset(insert_.get());
    sqlite3_bind_int64(insert_.get(), 1, ++seq_);
    sqlite3_bind_text(insert_.get(), 2, body.data(), static_cast<int>(body.size()), SQLITE_STATIC);
    sqlite3_bind_int64(insert_.get(), 3, static_cast<std::int64_t>(hash_));
    if (sqlite3_step(insert_.get()) != SQLITE_DONE) {
      return SqliteStatus(db_.get(), path_, "append");
    }
    return Status::Ok();
  }

  // Constant after construction.
  const std::string path_;
  const UniqueFd lock_;
  // Journal thread.
  Database db_;
  Statement insert_;
  std::int64_t seq_ = 0;
  std::uint64_t hash_ = 0;
  const OnFailure on_failure_;
  // Owner's thread.
  std::int64_t records_ = 0;
  std::int64_t compacted_ = 0;  // records of the last snapshot
  std::atomic<std::int64_t> waiting_ = 0;
  // Protected by mutex_.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Item> queue_;
  bool stopping_ = false;

  std::jthread thread_;
};

Result<UniqueFd> LockDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return ErrnoStatus(error.value(), "state directory " + directory);
  const std::string path = directory + "/lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, path);
    return Unavailable(directory +
                       " is in use by another coordinator; stop it, or give this one "
                       "another --state-dir");
  }
  return fd;
}

}  // namespace

Result<Journal::Opened> Journal::Open(const std::string& directory, OnFailure on_failure) {
  HR_TRY(UniqueFd lock, LockDirectory(directory));
  const std::string path = directory + "/journal.db";
  HR_RETURN_IF_ERROR(CheckWal(path + "-wal"));
  HR_TRY(Database db, OpenDatabase(path));
  HR_TRY(Replayed replayed, Replay(db.get(), path));
  auto journal =
      std::make_unique<SqliteJournal>(path, std::move(lock), std::move(db), std::move(on_failure));
  journal->Begin(replayed.last_seq, replayed.hash);
  journal->Compact(replayed.state.Snapshot());
  return Opened{std::move(journal), std::move(replayed.state)};
}

}  // namespace headrace::coordinator
