//! How many connections the memory of this process can hold.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The maximum memory of a connection: unread and unsent bytes in the kernel (the receive buffer's default of
/// 128 KiB, and [`SEND_BUFFER`](crate::listen::SEND_BUFFER), which the kernel doubles), the head and body of
/// a request (96 KiB), and hyper's own buffers (32 KiB).
const PINNED_BY_CONNECTION: u64 = 384 * 1024;

/// The memory that this process may use: the smallest limit of its control groups, or the memory of the
/// machine. `None` if neither is known.
pub(crate) fn limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = limit_files(&groups)
        .into_iter()
        .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| total(&text));
    groups.chain(machine).min()
}

/// The number of connections that fit into half of `memory`.
pub(crate) fn most_connections(memory: Option<u64>) -> usize {
    let most = memory.map_or(u64::MAX, |memory| memory / 2 / PINNED_BY_CONNECTION);
    usize::try_from(most).unwrap_or(usize::MAX).max(1)
}

/// The maximum of unsent bytes if the memory is large or unknown, which is enough for a thousand large pages.
const MOST_UNSENT: u64 = 64 * 1024 * 1024;

/// The maximum of unsent bytes of answers: a sixteenth of `memory`.
pub(crate) fn most_unsent(memory: Option<u64>) -> u64 {
    memory.map_or(MOST_UNSENT, |memory| (memory / 16).min(MOST_UNSENT))
}

/// The files that hold the limits of the groups in `/proc/self/cgroup`, and of the groups above them
/// (cgroups(7)).
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for group in groups.lines() {
        let mut fields = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        for ancestor in Path::new(path.trim_start_matches('/')).ancestors() {
            files.push(Path::new(root).join(ancestor).join(file));
        }
    }
    files
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_use_half_of_the_memory_and_at_least_one() {
        assert_eq!(most_connections(Some(512 << 20)), 682);
        assert_eq!(most_connections(Some(2 << 30)), 2_730);
        assert_eq!(most_connections(Some(0)), 1);
        assert_eq!(most_connections(None), usize::MAX);
    }

    #[test]
    fn unsent_responses_may_use_a_sixteenth_of_the_memory() {
        assert_eq!(most_unsent(Some(512 << 20)), 32 << 20);
        assert_eq!(most_unsent(Some(8 << 30)), 64 << 20);
        assert_eq!(most_unsent(None), 64 << 20);
    }

    #[test]
    fn memory_limits_of_all_enclosing_control_groups_apply() {
        assert_eq!(
            limit_files("0::/a/b\n"),
            [
                "/sys/fs/cgroup/a/b/memory.max",
                "/sys/fs/cgroup/a/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
            .map(PathBuf::from)
        );
        assert_eq!(
            limit_files("4:cpu,cpuacct:/x\n3:memory:/\nnonsense\n"),
            [PathBuf::from("/sys/fs/cgroup/memory/memory.limit_in_bytes")]
        );
    }

    #[test]
    fn machine_memory_is_read_in_kilobytes() {
        assert_eq!(
            total("MemTotal:        2097152 kB\nMemFree: 1 kB\n"),
            Some(2 << 30)
        );
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert!(limit().is_none_or(|limit| limit > 0));
    }
}
