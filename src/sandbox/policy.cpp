#include "sandbox/policy.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>

namespace aplomb::sandbox {
namespace {

// The kernel's interface as of Landlock 6 (Linux 6.12): the headers of a distribution may be older
// than the kernel that the program meets. Names and values: include/uapi/linux/landlock.h.
struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent;
};
constexpr std::uint64_t k_execute = 1U << 0U;
constexpr std::uint64_t k_write_file = 1U << 1U;
constexpr std::uint64_t k_remove_and_make = 0x1FF0U;  // REMOVE_DIR ... MAKE_SYM, bits 4 to 12
constexpr std::uint64_t k_refer = 1U << 13U;          // from version 2 on
constexpr std::uint64_t k_truncate = 1U << 14U;       // 3
constexpr std::uint64_t k_tcp = 3U;                   // bind and connect; 4
constexpr std::uint64_t k_scopes = 3U;                // abstract sockets and signals; 6
constexpr std::uint32_t k_ask_version = 1U;
constexpr int k_path_beneath = 1;

long create_ruleset(const RulesetAttributes* what, std::size_t size, std::uint32_t flags) {
  return ::syscall(SYS_landlock_create_ruleset, what, size, flags);
}

/// The loader that an ELF file names for itself (PT_INTERP); empty where it names none.
std::string loader_of(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr head{};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head)) return {};  // NOLINT: as bytes
  if (std::string_view(reinterpret_cast<const char*>(head.e_ident), 4) != ELFMAG ||  // NOLINT
      head.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(head.e_phoff + i * sizeof part));
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return {};  // NOLINT: as bytes
    if (part.p_type != PT_INTERP || part.p_filesz == 0 || part.p_filesz > 4096) continue;
    std::string path(part.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    file.read(path.data(), static_cast<std::streamsize>(path.size()));
    return path.c_str();  // without the zero at its end
  }
  return {};
}

bool allow_execution(int ruleset, const std::string& path) {
  const int file = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (file < 0) return false;
  const PathBeneath rule{k_execute, file};
  const long done = ::syscall(SYS_landlock_add_rule, ruleset, k_path_beneath, &rule, 0);
  ::close(file);
  return done == 0;
}

/// What no reader does. Where a call is not known to the library, an older one, it is left out.
constexpr std::array k_never{
    // programs
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
    "pidfd_getfd", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill", "kcmp",
    // connections
    "socket", "connect", "bind", "listen", "accept", "accept4",
    // files: names, contents, owners, rights, times, attributes
    "creat", "truncate", "rename", "renameat", "renameat2", "link", "linkat", "symlink",
    "symlinkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "chmod",
    "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes",
    "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr",
    "lremovexattr", "fremovexattr", "removexattrat", "open_by_handle_at", "name_to_handle_at",
    // the machine
    "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "move_mount", "fsopen",
    "fsmount", "fsconfig", "open_tree", "mount_setattr", "bpf", "perf_event_open", "userfaultfd",
    "io_uring_setup", "io_uring_enter", "io_uring_register", "add_key", "request_key", "keyctl",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "swapon", "swapoff", "sethostname", "setdomainname", "settimeofday", "clock_settime", "acct",
    "quotactl", "quotactl_fd", "iopl", "ioperm", "modify_ldt", "personality", "setuid", "setgid",
    "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "fanotify_init", "mq_open"};

class Filter {
 public:
  explicit Filter(bool for_program) : context_(::seccomp_init(SCMP_ACT_ALLOW)) {
    if (context_ == nullptr) return;
    for (const char* name : k_never) {
      const std::string_view call = name;
      if (for_program && (call == "execve")) continue;
      deny(call.data(), EPERM);
    }
    // A clone that is no thread; clone3 and openat2 hide their flags in memory, where no filter
    // looks: the C library falls back to the old calls.
    deny("clone3", ENOSYS);
    deny("openat2", ENOSYS);
    deny_if("clone", SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    deny_opening("open", 1);
    deny_opening("openat", 2);
    // Another process's limits; signals to others.
    deny_if("prlimit64", SCMP_CMP(0, SCMP_CMP_NE, 0));
    const auto own = static_cast<scmp_datum_t>(::getpid());
    if (for_program) {
      deny("kill", EPERM);
    } else {
      deny_if("kill", SCMP_CMP(0, SCMP_CMP_NE, own));
      deny_if("tgkill", SCMP_CMP(0, SCMP_CMP_NE, own));
    }
    // Characters put into a terminal's input as if they were typed.
    for (const std::uint64_t request : {0x5412ULL /* TIOCSTI */, 0x541CULL /* TIOCLINUX */})
      deny_if("ioctl", SCMP_CMP(1, SCMP_CMP_MASKED_EQ, 0xFFFFFFFFULL, request));
  }
  ~Filter() {
    if (context_ != nullptr) ::seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  std::vector<sock_filter> program() const {
    std::vector<sock_filter> out;
    if (context_ == nullptr || failed_) return out;
    const int file = ::memfd_create("filter", MFD_CLOEXEC);
    struct stat about{};
    if (file >= 0 && ::seccomp_export_bpf(context_, file) == 0 && ::fstat(file, &about) == 0) {
      out.resize(static_cast<std::size_t>(about.st_size) / sizeof(sock_filter));
      if (::pread(file, out.data(), static_cast<std::size_t>(about.st_size), 0) != about.st_size)
        out.clear();
    }
    if (file >= 0) ::close(file);
    return out;
  }

 private:
  void add(const char* call, int error, const std::vector<scmp_arg_cmp>& where) {
    const int number = ::seccomp_syscall_resolve_name(call);
    if (number < 0) return;  // not of this architecture, or newer than the library
    const int done =
        ::seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)),
                                 number, static_cast<unsigned>(where.size()), where.data());
    failed_ = failed_ || done != 0;
  }
  void deny(const char* call, int error) { add(call, error, {}); }
  void deny_if(const char* call, scmp_arg_cmp where) { add(call, EPERM, {where}); }
  /// Opening a file for anything but reading: EACCES, as for a file that may not be written.
  void deny_opening(const char* call, unsigned flags) {
    const auto masked = [&](scmp_datum_t mask, scmp_datum_t value) {
      add(call, EACCES, {scmp_arg_cmp{flags, SCMP_CMP_MASKED_EQ, mask, value}});
    };
    masked(O_WRONLY, O_WRONLY);
    masked(O_RDWR, O_RDWR);
    masked(O_CREAT, O_CREAT);
    masked(O_TRUNC, O_TRUNC);
  }

  scmp_filter_ctx context_;
  bool failed_ = false;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool k_is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool k_is_sanitized = true;
#else
constexpr bool k_is_sanitized = false;
#endif
#else
constexpr bool k_is_sanitized = false;
#endif

}  // namespace

Policy::Policy(const std::vector<std::string>& programs) {
  // A sanitizer looks for leaks by a process of its own that traces this one.
  if (k_is_sanitized) {
    why_no_filter_ = why_no_ruleset_ = "this program is built with a sanitizer";
    return;
  }
  filter_ = Filter(!programs.empty()).program();
  if (filter_.empty()) why_no_filter_ = "no filter could be made";
  const long version = create_ruleset(nullptr, 0, k_ask_version);
  if (version <= 0) {
    why_no_ruleset_ = errno == ENOSYS       ? "this kernel has no Landlock (Linux 5.13 has it)"
                      : errno == EOPNOTSUPP ? "Landlock is switched off (lsm= of the kernel)"
                                            : "Landlock may not be used here";
    return;
  }
  landlock_version_ = static_cast<int>(version);
  RulesetAttributes what{k_execute | k_write_file | k_remove_and_make, 0, 0};
  std::size_t size = sizeof what.handled_access_fs;
  if (version >= 2) what.handled_access_fs |= k_refer;
  if (version >= 3) what.handled_access_fs |= k_truncate;
  if (version >= 4) {
    what.handled_access_net = k_tcp;
    size += sizeof what.handled_access_net;
  }
  if (version >= 6) {
    what.scoped = k_scopes;
    size += sizeof what.scoped;
  }
  ruleset_ = static_cast<int>(create_ruleset(&what, size, 0));
  bool fine = ruleset_ >= 0;
  for (const std::string& path : programs) fine = fine && allow_execution(ruleset_, path);
  if (fine) return;
  why_no_ruleset_ = "the kernel refused the Landlock rules";
  if (ruleset_ >= 0) ::close(ruleset_);
  ruleset_ = -1;
}

Policy Policy::of_reader() { return Policy({}); }

Policy Policy::of_program(const std::string& path) {
  std::vector<std::string> may_run{path};
  if (std::string loader = loader_of(path); !loader.empty()) may_run.push_back(std::move(loader));
  return Policy(may_run);
}

Policy::~Policy() {
  if (ruleset_ >= 0) ::close(ruleset_);
}

Policy::Policy(Policy&& other) noexcept
    : filter_(std::move(other.filter_)),
      ruleset_(other.ruleset_),
      landlock_version_(other.landlock_version_),
      why_no_filter_(other.why_no_filter_),
      why_no_ruleset_(other.why_no_ruleset_) {
  other.ruleset_ = -1;
}

InForce Policy::apply() const noexcept {
  InForce now;
  now.landlock_version = landlock_version_;
  now.why_no_files = why_no_ruleset_;
  now.why_no_calls = why_no_filter_;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    now.why_no_calls = now.why_no_files = "the kernel refused no_new_privs";
    return now;
  }
  if (ruleset_ >= 0) {
    now.files = ::syscall(SYS_landlock_restrict_self, ruleset_, 0) == 0;
    if (!now.files) now.why_no_files = "the kernel refused Landlock";
  }
  if (!filter_.empty()) {
    // The kernel copies it; the type is not const for historical reasons.
    sock_fprog program{static_cast<unsigned short>(filter_.size()),
                       const_cast<sock_filter*>(filter_.data())};
    now.calls = ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    if (!now.calls) now.why_no_calls = "the kernel refused the filter";
  }
  return now;
}

}  // namespace aplomb::sandbox
