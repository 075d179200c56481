//! The rows of the bench: request, reference and goal.

use crate::options::Options;
use crate::pages::PAGES;
use crate::rows::{Cache, Database, Figure, Goal, Meanwhile, Other, Pair, Rate, Request, Single};

/// At most 1.2 times the time.
const ONLY_FIFTH_MORE_TIME: Option<f64> = Some(0.83);

pub(crate) const PAIRS: &[Pair] = &[
    Pair {
        name: "health",
        request: Request::Health,
        against: Other::BareHandler,
        goal: Goal {
            least_rate: Some(0.95),
            most_cpu: Some(1.15),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "user-postgres",
        database: Database::Postgres,
        meanwhile: Meanwhile::Revocations,
        goal: Goal {
            least_rate: Some(0.9),
            most_cpu: Some(1.4),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "user-sqlite",
        meanwhile: Meanwhile::Revocations,
        goal: Goal {
            least_rate: Some(0.9),
            most_cpu: Some(1.4),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "forward-auth",
        request: Request::ForwardAuth,
        goal: Goal {
            least_rate: Some(0.95),
            most_cpu: Some(1.25),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "forward-auth-nginx",
        request: Request::ForwardAuth,
        against: Other::Nginx,
        goal: Goal {
            least_rate: Some(0.9),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "introspection",
        request: Request::Introspection,
        // Behind the front door, a handler that does not read the body would lose its connection each time.
        against: Other::BareHandler,
        goal: Goal {
            least_rate: Some(0.8),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "lookup-postgres",
        database: Database::Postgres,
        cache: Cache::Off,
        against: Other::Pgbench,
        goal: Goal {
            least_rate: Some(0.5),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "lookup-sqlite",
        cache: Cache::Off,
        against: Other::BareHandler,
        goal: Goal {
            // 40,000 requests per second where the bare handler answers 109,000.
            least_rate: Some(0.37),
            most_micros: Some(35.0),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "malformed",
        request: Request::Malformed,
        goal: Goal {
            least_rate: Some(0.95),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "user-steady",
        database: Database::Postgres,
        rate: Rate::Steady(10_000),
        goal: Goal {
            most_p99_more: Some(0.5),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "forward-auth-steady",
        database: Database::Postgres,
        request: Request::ForwardAuth,
        rate: Rate::Steady(10_000),
        goal: Goal {
            most_p99_more: Some(0.5),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "user-guessed",
        database: Database::Postgres,
        rate: Rate::Steady(2_000),
        meanwhile: Meanwhile::Guesses,
        against: Other::Undisturbed,
        goal: Goal {
            most_p99: Some(2.0),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "lookup-many-keys",
        database: Database::PostgresWithManyKeys,
        cache: Cache::Off,
        against: Other::FewKeys,
        goal: Goal {
            // At most 1.3 times the time.
            least_rate: Some(0.77),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "own-keys-many-keys",
        database: Database::PostgresWithManyKeys,
        request: Request::OwnKeys,
        against: Other::FewKeys,
        goal: Goal {
            least_rate: ONLY_FIFTH_MORE_TIME,
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "all-keys-many-keys",
        database: Database::PostgresWithManyKeys,
        request: Request::AllKeys,
        against: Other::FewKeys,
        goal: Goal {
            least_rate: ONLY_FIFTH_MORE_TIME,
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "all-keys-far-back-many-keys",
        database: Database::PostgresWithManyKeys,
        request: Request::AllKeysFarBack,
        against: Other::FewKeys,
        goal: Goal {
            least_rate: ONLY_FIFTH_MORE_TIME,
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    Pair {
        name: "audit-log-many-events",
        database: Database::PostgresWithManyKeys,
        request: Request::AuditLog,
        against: Other::FewKeys,
        goal: Goal {
            least_rate: ONLY_FIFTH_MORE_TIME,
            ..Goal::NONE
        },
        ..Pair::BASE
    },
    // Last, because it leaves many keys behind.
    Pair {
        name: "create",
        database: Database::Postgres,
        request: Request::Create,
        against: Other::Pgbench,
        goal: Goal {
            least_rate: Some(0.5),
            ..Goal::NONE
        },
        ..Pair::BASE
    },
];

const SINGLES: &[Single] = &[
    single(
        "start-postgres",
        Figure::StartToReady(Database::Postgres),
        "ms",
        Some(150.0),
    ),
    single(
        "start-sqlite",
        Figure::StartToReady(Database::Sqlite),
        "ms",
        Some(150.0),
    ),
    single("binary", Figure::BinarySize, "MiB", Some(25.0)),
    single(
        "idle-postgres",
        Figure::IdleMemory(Database::Postgres),
        "MiB",
        Some(30.0),
    ),
    single(
        "idle-sqlite",
        Figure::IdleMemory(Database::Sqlite),
        "MiB",
        Some(30.0),
    ),
    single("memory-many-keys", Figure::MemoryWithManyKeys, "MiB", Some(250.0)),
    single(
        "memory-guessed",
        Figure::MemoryOfGuesses(1_000_000),
        "MiB",
        Some(20.0),
    ),
    single("polling-1", Figure::Polling(1), "ms/s", None),
    single("polling-2", Figure::Polling(2), "ms/s", None),
    single("polling-4", Figure::Polling(4), "ms/s", None),
    single("polling-8", Figure::Polling(8), "ms/s", None),
    single("polling-16", Figure::Polling(16), "ms/s", None),
    single("polling-32", Figure::Polling(32), "ms/s", None),
    single("polling-64", Figure::Polling(64), "ms/s", None),
];

/// The figures of Keyward by itself.
pub(crate) fn singles() -> impl Iterator<Item = &'static Single> {
    SINGLES.iter().chain(PAGES)
}

pub(crate) const fn single(
    name: &'static str,
    what: Figure,
    unit: &'static str,
    most: Option<f64>,
) -> Single {
    Single {
        name,
        what,
        unit,
        most,
    }
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let pairs = PAIRS.iter().map(|pair| pair.name);
    pairs.chain(singles().map(|single| single.name))
}

/// Whether a row that is wanted is about this database.
pub(crate) fn need(options: &Options, database: Database) -> bool {
    let pairs = PAIRS.iter().map(|pair| (pair.name, Some(pair.database)));
    let singles = singles().map(|single| (single.name, single.what.database()));
    let mut rows = pairs.chain(singles);
    rows.any(|(name, of_row)| of_row == Some(database) && options.wants(name))
}
