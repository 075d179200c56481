//! What is measured, against what, and what is to be reached: one entry each.

/// A server, and another program that is measured in turn with it.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) database: Database,
    pub(crate) cache: Cache,
    /// What the server is asked again and again.
    pub(crate) request: Request,
    pub(crate) rate: Rate,
    pub(crate) against: Other,
    pub(crate) goal: Goal,
}

/// Whether verifications are answered from memory, or each by the database.
#[derive(Clone, Copy)]
pub(crate) enum Cache {
    On,
    Off,
}

impl Cache {
    /// The value of `--verification-cache`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// How often a server is asked.
#[derive(Clone, Copy)]
pub(crate) enum Rate {
    /// As often as it answers.
    Full,
    /// So often a second, however soon it answers.
    Steady(usize),
}

#[derive(Clone, Copy)]
pub(crate) enum Other {
    /// A poem handler behind poem's own server, which answers with the same status, type and body as Keyward.
    BareHandler,
    /// pgbench, which runs the lookup of a key, prepared, on as many connections as Keyward has.
    Pgbench,
    /// The same server over a PostgreSQL database with few keys.
    FewKeys,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Database {
    Postgres,
    /// With `--many-keys` keys stored. They are asked for all over the table, as many as are stored
    /// elsewhere.
    PostgresWithManyKeys,
    Sqlite,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    Health,
    /// `GET /api/v1/user`, with all stored keys in turn.
    User,
    /// `GET /api/v1/auth`, with all stored keys in turn.
    ForwardAuth,
    /// `POST /api/v1/introspect`, about all stored keys in turn.
    Introspection,
    /// `GET /api/v1/user`, with tokens of a wrong shape and of a wrong checksum in turn.
    Malformed,
}

/// What is to be reached; nothing fails where it is not.
pub(crate) struct Goal {
    /// Requests per second, as a share of the other's.
    pub(crate) least_rate: Option<f64>,
    /// The server's CPU time for a request, in multiples of the other's.
    pub(crate) most_cpu: Option<f64>,
    /// The server's CPU time for a request, in µs.
    pub(crate) most_micros: Option<f64>,
    /// The 99th percentile of the latency, in ms more than the other's.
    pub(crate) most_p99_more: Option<f64>,
}

impl Goal {
    const NONE: Self = Self {
        least_rate: None,
        most_cpu: None,
        most_micros: None,
        most_p99_more: None,
    };
}

/// One figure of Keyward by itself.
pub(crate) struct Single {
    pub(crate) name: &'static str,
    pub(crate) what: Figure,
    pub(crate) unit: &'static str,
    /// Where there is a goal.
    pub(crate) most: Option<f64>,
}

#[derive(Clone, Copy)]
pub(crate) enum Figure {
    /// From the start of a process to its first answer `200` on `/readyz`, less the time of
    /// `keyward --version`.
    StartToReady(Database),
    BinarySize,
    /// Resident memory of a server that has just become ready.
    IdleMemory(Database),
    /// PostgreSQL's CPU time a second for so many servers that are asked nothing, and look for changes.
    Polling(usize),
}

pub(crate) const PAIRS: &[Pair] = &[
    Pair {
        name: "health",
        database: Database::Sqlite,
        cache: Cache::On,
        request: Request::Health,
        rate: Rate::Full,
        against: Other::BareHandler,
        goal: Goal {
            least_rate: Some(0.95),
            most_cpu: Some(1.15),
            ..Goal::NONE
        },
    },
    Pair {
        name: "user-postgres",
        database: Database::Postgres,
        cache: Cache::On,
        request: Request::User,
        rate: Rate::Full,
        against: Other::BareHandler,
        goal: Goal {
            least_rate: Some(0.9),
            most_cpu: Some(1.4),
            ..Goal::NONE
        },
    },
    Pair {
        name: "user-sqlite",
        database: Database::Sqlite,
        cache: Cache::On,
        request: Request::User,
        rate: Rate::Full,
        against: Other::BareHandler,
        goal: Goal {
            least_rate: Some(0.9),
            most_cpu: Some(1.4),
            ..Goal::NONE
        },
    },
    Pair {
        name: "forward-auth",
        database: Database::Sqlite,
        cache: Cache::On,
        request: Request::ForwardAuth,
        rate: Rate::Full,
        against: Other::BareHandler,
        goal: Goal {
            least_rate: Some(0.95),
            most_cpu: Some(1.25),
            ..Goal::NONE
        },
    },
    Pair {
        name: "introspection",
        database: Database::Sqlite,
        cache: Cache::On,
        request: Request::Introspection,
        rate: Rate::Full,
        against: Other::BareHandler,
        goal: Goal {
            least_rate: Some(0.8),
            ..Goal::NONE
        },
    },
    Pair {
        name: "lookup-postgres",
        database: Database::Postgres,
        cache: Cache::Off,
        request: Request::User,
        rate: Rate::Full,
        against: Other::Pgbench,
        goal: Goal {
            least_rate: Some(0.5),
            ..Goal::NONE
        },
    },
    Pair {
        name: "lookup-sqlite",
        database: Database::Sqlite,
        cache: Cache::Off,
        request: Request::User,
        rate: Rate::Full,
        against: Other::BareHandler,
        goal: Goal {
            // 40,000 requests per second where the bare handler answers 109,000.
            least_rate: Some(0.37),
            most_cpu: None,
            most_micros: Some(35.0),
            most_p99_more: None,
        },
    },
    Pair {
        name: "malformed",
        database: Database::Sqlite,
        cache: Cache::On,
        request: Request::Malformed,
        rate: Rate::Full,
        against: Other::BareHandler,
        goal: Goal {
            least_rate: Some(0.95),
            ..Goal::NONE
        },
    },
    Pair {
        name: "user-steady",
        database: Database::Postgres,
        cache: Cache::On,
        request: Request::User,
        rate: Rate::Steady(10_000),
        against: Other::BareHandler,
        goal: Goal {
            most_p99_more: Some(0.5),
            ..Goal::NONE
        },
    },
    Pair {
        name: "forward-auth-steady",
        database: Database::Postgres,
        cache: Cache::On,
        request: Request::ForwardAuth,
        rate: Rate::Steady(10_000),
        against: Other::BareHandler,
        goal: Goal {
            most_p99_more: Some(0.5),
            ..Goal::NONE
        },
    },
    Pair {
        name: "lookup-many-keys",
        database: Database::PostgresWithManyKeys,
        cache: Cache::Off,
        request: Request::User,
        rate: Rate::Full,
        against: Other::FewKeys,
        goal: Goal {
            // At most 1.3 times the time.
            least_rate: Some(0.77),
            most_cpu: None,
            most_micros: None,
            most_p99_more: None,
        },
    },
];

pub(crate) const SINGLES: &[Single] = &[
    Single {
        name: "start-postgres",
        what: Figure::StartToReady(Database::Postgres),
        unit: "ms",
        most: Some(150.0),
    },
    Single {
        name: "start-sqlite",
        what: Figure::StartToReady(Database::Sqlite),
        unit: "ms",
        most: Some(150.0),
    },
    Single {
        name: "binary",
        what: Figure::BinarySize,
        unit: "MiB",
        most: Some(25.0),
    },
    Single {
        name: "idle-postgres",
        what: Figure::IdleMemory(Database::Postgres),
        unit: "MiB",
        most: Some(30.0),
    },
    Single {
        name: "idle-sqlite",
        what: Figure::IdleMemory(Database::Sqlite),
        unit: "MiB",
        most: Some(30.0),
    },
    Single {
        name: "polling-1",
        what: Figure::Polling(1),
        unit: "ms/s",
        most: None,
    },
    Single {
        name: "polling-2",
        what: Figure::Polling(2),
        unit: "ms/s",
        most: None,
    },
    Single {
        name: "polling-4",
        what: Figure::Polling(4),
        unit: "ms/s",
        most: None,
    },
    Single {
        name: "polling-8",
        what: Figure::Polling(8),
        unit: "ms/s",
        most: None,
    },
    Single {
        name: "polling-16",
        what: Figure::Polling(16),
        unit: "ms/s",
        most: None,
    },
    Single {
        name: "polling-32",
        what: Figure::Polling(32),
        unit: "ms/s",
        most: None,
    },
    Single {
        name: "polling-64",
        what: Figure::Polling(64),
        unit: "ms/s",
        most: None,
    },
];

/// The names of all rows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let pairs = PAIRS.iter().map(|pair| pair.name);
    pairs.chain(SINGLES.iter().map(|single| single.name))
}
