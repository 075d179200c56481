//! What is measured, against what, and what is to be reached: one entry each.

/// A server, and another program that is measured in turn with it.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) database: Database,
    pub(crate) cache: Cache,
    /// What the server is asked again and again.
    pub(crate) request: Request,
    pub(crate) rate: Rate,
    pub(crate) meanwhile: Meanwhile,
    pub(crate) against: Other,
    pub(crate) goal: Goal,
}

impl Pair {
    pub(crate) fn needs_many_keys(&self) -> bool {
        matches!(self.database, Database::PostgresWithManyKeys)
    }

    /// What most have.
    const BASE: Self = Self {
        name: "",
        database: Database::Sqlite,
        cache: Cache::On,
        request: Request::User,
        rate: Rate::Full,
        meanwhile: Meanwhile::Nothing,
        against: Other::BehindFrontDoor,
        goal: Goal::NONE,
    };
}

/// What else happens to the server, and not to the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meanwhile {
    Nothing,
    /// Five keys a second are revoked.
    Revocations,
    /// One address sends tokens that no key has, as fast as it can. It is limited, as by default.
    Guesses,
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
    /// The same handler behind Keyward's front door, which logs nothing then.
    BehindFrontDoor,
    /// nginx, which returns 200.
    Nginx,
    /// pgbench, which runs the same statements, prepared, on as many connections as Keyward has.
    Pgbench,
    /// The same server, to which nothing else happens.
    Undisturbed,
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
    /// The first page of a consumer's keys.
    OwnKeys,
    /// `POST /api/v1/user/api-keys`, by many consumers in turn.
    Create,
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
    /// The 99th percentile of the latency, in multiples of the other's.
    pub(crate) most_p99: Option<f64>,
}

impl Goal {
    const NONE: Self = Self {
        least_rate: None,
        most_cpu: None,
        most_micros: None,
        most_p99_more: None,
        most_p99: None,
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

impl Single {
    pub(crate) fn needs_many_keys(&self) -> bool {
        matches!(self.what, Figure::MemoryWithManyKeys)
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Figure {
    /// From the start of a process to its first answer `200` on `/readyz`, less the time of
    /// `keyward --version`.
    StartToReady(Database),
    BinarySize,
    /// Resident memory of a server that has just become ready.
    IdleMemory(Database),
    /// Resident memory of a server that was asked for each of many keys once, and so keeps them.
    MemoryWithManyKeys,
    /// PostgreSQL's CPU time a second for so many servers that are asked nothing, and look for changes.
    Polling(usize),
}

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
            // At most 1.2 times the time.
            least_rate: Some(0.83),
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

pub(crate) const SINGLES: &[Single] = &[
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
    single("polling-1", Figure::Polling(1), "ms/s", None),
    single("polling-2", Figure::Polling(2), "ms/s", None),
    single("polling-4", Figure::Polling(4), "ms/s", None),
    single("polling-8", Figure::Polling(8), "ms/s", None),
    single("polling-16", Figure::Polling(16), "ms/s", None),
    single("polling-32", Figure::Polling(32), "ms/s", None),
    single("polling-64", Figure::Polling(64), "ms/s", None),
];

const fn single(name: &'static str, what: Figure, unit: &'static str, most: Option<f64>) -> Single {
    Single {
        name,
        what,
        unit,
        most,
    }
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let pairs = PAIRS.iter().map(|pair| pair.name);
    pairs.chain(SINGLES.iter().map(|single| single.name))
}
