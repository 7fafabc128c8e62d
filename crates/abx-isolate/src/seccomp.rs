//! The system call filter: everything is allowed but what reaches past the namespaces.
//!
//! A deny list is enough because it is not the wall: nobody inside has a capability over the namespaces
//! they are in, so `mount` or `sethostname` fail without it too. The filter takes away the kernel code behind
//! those calls, and what no namespace covers (keyrings, bpf, io_uring, odd sockets, new user namespaces).
//! The kernel remembers which calls are always allowed, so an ordinary call does not run the program.

use libc::sock_filter;

/// Denied with EPERM, whatever the arguments.
const DENIED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
];

/// `open_tree` with attributes (Linux 6.15), which libraries do not name yet; the number is the same everywhere.
const OPEN_TREE_ATTR: i64 = 467;

/// Answered with ENOSYS, so that callers fall back: `clone3` because its flags are out of a filter's sight,
/// io_uring because its operations are, `open_tree_attr` because most kernels lack it.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    OPEN_TREE_ATTR,
];

const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// `personality` values that change nothing but what `uname` and the address layout look like.
const PERSONALITIES: &[u32] = &[0, 0x0008, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];

/// Terminal ioctls that type into somebody's terminal or take the console.
const TERMINAL_INPUT: &[u32] = &[libc::TIOCSTI as u32, libc::TIOCLINUX as u32, libc::TIOCCONS as u32];

/// Sockets there are. Any other family is unknown, as on a kernel without it: asked for, the kernel would load the
/// module of a protocol nobody uses, for anybody; and some are confined by no network namespace (from a virtual machine
/// vsock leads to its host).
const FAMILIES: &[u32] = &[
    libc::AF_UNSPEC as u32,
    libc::AF_UNIX as u32,
    libc::AF_INET as u32,
    libc::AF_INET6 as u32,
    libc::AF_NETLINK as u32,
    libc::AF_PACKET as u32,
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const EAFNOSUPPORT: u32 = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32;

/// Offsets in `struct seccomp_data`; arguments are 64 bits wide, low half first on the architectures we know.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The whole program.
pub(crate) fn filter() -> Vec<sock_filter> {
    let mut program = vec![
        load(ARCH),
        skip_if_equal(ARCHITECTURE, 1),
        // Another instruction set's numbers (i386, arm) mean other calls.
        give(ENOSYS),
        load(NUMBER),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([jump(libc::BPF_JGE, X32_BIT, 0, 1), give(ENOSYS)]);
    program.extend(argument_rules());
    program.extend(number_rules());
    program
}

/// Rules that look at an argument: each is skipped unless the number matches.
fn argument_rules() -> Vec<sock_filter> {
    let mut rules = Vec::new();
    rules.extend(guard(
        libc::SYS_clone,
        0,
        vec![jump(libc::BPF_JSET, NEW_NAMESPACES, 0, 1), give(EPERM), give(ALLOW)],
    ));
    rules.extend(guard(libc::SYS_ioctl, 1, unless_among(TERMINAL_INPUT, EPERM, ALLOW)));
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        rules.extend(guard(call, 0, unless_among(FAMILIES, ALLOW, EAFNOSUPPORT)));
    }
    rules.extend(guard(libc::SYS_personality, 0, unless_among(PERSONALITIES, ALLOW, EPERM)));
    rules
}

fn guard(number: i64, argument: u32, body: Vec<sock_filter>) -> Vec<sock_filter> {
    let mut rule =
        vec![jump(libc::BPF_JEQ, number as u32, 0, body.len() as u8 + 1), load(ARGUMENTS + 8 * argument)];
    rule.extend(body);
    rule
}

/// `hit` where the loaded value is one of `values`, else `otherwise`.
fn unless_among(values: &[u32], hit: u32, otherwise: u32) -> Vec<sock_filter> {
    let mut body: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(index, value)| jump(libc::BPF_JEQ, *value, (values.len() - index) as u8, 0))
        .collect();
    body.extend([give(otherwise), give(hit)]);
    body
}

/// A binary search over all denied numbers: the kernel runs the program once for each number it has when
/// the filter is installed, which is on the way to every start.
fn number_rules() -> Vec<sock_filter> {
    let mut numbers: Vec<(u32, u32)> = DENIED.iter().map(|number| (*number as u32, EPERM)).collect();
    numbers.extend(UNKNOWN.iter().map(|number| (*number as u32, ENOSYS)));
    numbers.sort_unstable();
    search(&numbers)
}

fn search(numbers: &[(u32, u32)]) -> Vec<sock_filter> {
    match numbers {
        [] => vec![give(ALLOW)],
        [(number, answer)] => vec![jump(libc::BPF_JEQ, *number, 0, 1), give(*answer), give(ALLOW)],
        _ => {
            let (below, from) = numbers.split_at(numbers.len() / 2);
            let below = search(below);
            // A jump spans at most 255 instructions; the table is far from that.
            let mut program = vec![jump(libc::BPF_JGE, from[0].0, below.len() as u8, 0)];
            program.extend(below);
            program.extend(search(from));
            program
        }
    }
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn give(answer: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, answer, 0, 0)
}

fn skip_if_equal(value: u32, count: u8) -> sock_filter {
    jump(libc::BPF_JEQ, value, count, 0)
}

fn jump(test: u32, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    instruction(libc::BPF_JMP | test | libc::BPF_K, value, if_true, if_false)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program as the kernel would.
    fn run(arch: u32, number: i64, arguments: [u64; 2]) -> u32 {
        let program = filter();
        let word = |offset: u32| match offset {
            NUMBER => number as u32,
            ARCH => arch,
            offset => arguments[(offset - ARGUMENTS) as usize / 8] as u32,
        };
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = program[at];
            let code = u32::from(step.code);
            at += 1;
            if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS {
                loaded = word(step.k);
            } else if code == libc::BPF_RET | libc::BPF_K {
                return step.k;
            } else {
                let holds = match code & 0xf0 {
                    libc::BPF_JEQ => loaded == step.k,
                    libc::BPF_JGE => loaded >= step.k,
                    libc::BPF_JSET => loaded & step.k != 0,
                    other => panic!("unexpected test {other:#x}"),
                };
                at += usize::from(if holds { step.jt } else { step.jf });
            }
        }
    }

    fn native(number: i64, arguments: [u64; 2]) -> u32 {
        run(ARCHITECTURE, number, arguments)
    }

    #[test]
    fn every_listed_call_is_refused_and_every_other_allowed() {
        for number in 0..512 {
            if [libc::SYS_clone, libc::SYS_ioctl, libc::SYS_personality].contains(&number) {
                continue;
            }
            let expected = match number {
                number if DENIED.contains(&number) => EPERM,
                number if UNKNOWN.contains(&number) => ENOSYS,
                _ => ALLOW,
            };
            assert_eq!(native(number, [0, 0]), expected, "call {number}");
        }
    }

    #[test]
    fn arguments_decide() {
        assert_eq!(native(libc::SYS_clone, [libc::SIGCHLD as u64, 0]), ALLOW);
        assert_eq!(native(libc::SYS_clone, [(libc::CLONE_NEWUSER | libc::SIGCHLD) as u64, 0]), EPERM);
        assert_eq!(native(libc::SYS_ioctl, [0, libc::TIOCSTI]), EPERM);
        assert_eq!(native(libc::SYS_ioctl, [0, libc::TIOCGWINSZ]), ALLOW);
        for call in [libc::SYS_socket, libc::SYS_socketpair] {
            for family in [libc::AF_VSOCK, libc::AF_ALG, libc::AF_BLUETOOTH, libc::AF_CAN, 99] {
                assert_eq!(native(call, [family as u64, 0]), EAFNOSUPPORT, "{family}");
            }
            for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
                assert_eq!(native(call, [family as u64, 0]), ALLOW, "{family}");
            }
        }
        assert_eq!(native(libc::SYS_personality, [0xffff_ffff, 0]), ALLOW);
        assert_eq!(native(libc::SYS_personality, [0x0040_0000, 0]), EPERM);
    }

    #[test]
    fn other_instruction_sets_know_no_calls() {
        assert_eq!(run(0x4000_0003, libc::SYS_read, [0, 0]), ENOSYS);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(native(libc::SYS_read | i64::from(X32_BIT), [0, 0]), ENOSYS);
    }
}
