//! How many connections the process may hold: each is an open file, and others need some too.

use rustix::process::{Resource, getrlimit};

/// Enough for any load this service is built for. Their memory is bounded separately (`memory`).
const MOST_CONNECTIONS: usize = 10_000;

/// The files reserved for the database pool, logs and libraries; with a small limit, a quarter of it.
const LEFT_FOR_OTHERS: usize = 512;

/// The soft limit of open files (`RLIMIT_NOFILE`), or `None` where there is none.
pub(crate) fn limit() -> Option<usize> {
    getrlimit(Resource::Nofile)
        .current
        .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// The default maximum of connections: the limit of open files, less a share for other uses.
pub(crate) fn default_connections(open_files: Option<usize>) -> usize {
    let open_files = open_files.unwrap_or(usize::MAX);
    let left_for_others = (open_files / 4).min(LEFT_FOR_OTHERS);
    (open_files - left_for_others).clamp(1, MOST_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::default_connections;

    #[test]
    fn connection_limit_reserves_open_files_for_other_uses() {
        assert_eq!(default_connections(Some(256)), 192);
        assert_eq!(default_connections(Some(1_024)), 768);
        assert_eq!(default_connections(Some(4_096)), 3_584);
    }

    #[test]
    fn connection_limit_is_between_one_and_ten_thousand() {
        assert_eq!(default_connections(Some(0)), 1);
        assert_eq!(default_connections(Some(1_048_576)), 10_000);
        assert_eq!(default_connections(None), 10_000);
    }
}
