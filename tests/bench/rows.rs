//! What is measured, against what, and what is to be reached: one entry each.

/// Two that are measured in turn.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) what: Contender,
    pub(crate) against: Contender,
    pub(crate) goal: Goal,
}

/// The program whose answers are measured, and the request that it answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Contender {
    /// Keyward over a database, asked the same again and again.
    Keyward(Database, Request),
    /// A poem handler behind poem's own server, which answers with the same status, type and body as Keyward.
    Bare(Request),
    /// pgbench, which runs the lookup of a key, prepared, on as many connections as Keyward has.
    Pgbench,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Database {
    Postgres,
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
    /// `GET /api/v1/user`, with tokens of a wrong shape and of a wrong checksum in turn.
    Malformed,
}

/// What is to be reached; nothing fails where it is not.
#[derive(Default)]
pub(crate) struct Goal {
    /// Requests per second, as a share of the other's.
    pub(crate) least_rate: Option<f64>,
    /// The server's CPU time for a request, in multiples of the other's.
    pub(crate) most_cpu: Option<f64>,
    /// The server's CPU time for a request, in µs.
    pub(crate) most_micros: Option<f64>,
}

/// One figure of Keyward by itself.
pub(crate) struct Single {
    pub(crate) name: &'static str,
    pub(crate) what: Figure,
    pub(crate) unit: &'static str,
    pub(crate) most: f64,
}

#[derive(Clone, Copy)]
pub(crate) enum Figure {
    /// From the start of a process to its first answer `200` on `/readyz`, less the time of `keyward --version`.
    StartToReady(Database),
    BinarySize,
    /// Resident memory of a server that has just become ready.
    IdleMemory(Database),
}

pub(crate) const PAIRS: &[Pair] = &[
    Pair {
        name: "health",
        what: Contender::Keyward(Database::Sqlite, Request::Health),
        against: Contender::Bare(Request::Health),
        goal: Goal {
            least_rate: Some(0.95),
            most_cpu: Some(1.15),
            most_micros: None,
        },
    },
    Pair {
        name: "user-postgres",
        what: Contender::Keyward(Database::Postgres, Request::User),
        against: Contender::Pgbench,
        goal: Goal {
            least_rate: Some(0.5),
            most_cpu: None,
            most_micros: None,
        },
    },
    Pair {
        name: "user-sqlite",
        what: Contender::Keyward(Database::Sqlite, Request::User),
        against: Contender::Bare(Request::User),
        goal: Goal {
            // 40,000 requests per second where the bare handler answers 109,000.
            least_rate: Some(0.37),
            most_cpu: None,
            most_micros: Some(35.0),
        },
    },
    Pair {
        name: "forward-auth",
        what: Contender::Keyward(Database::Sqlite, Request::ForwardAuth),
        against: Contender::Bare(Request::ForwardAuth),
        goal: Goal {
            least_rate: Some(0.95),
            most_cpu: None,
            most_micros: None,
        },
    },
    Pair {
        name: "malformed",
        what: Contender::Keyward(Database::Sqlite, Request::Malformed),
        against: Contender::Bare(Request::Malformed),
        goal: Goal {
            least_rate: Some(0.95),
            most_cpu: None,
            most_micros: None,
        },
    },
];

pub(crate) const SINGLES: &[Single] = &[
    Single {
        name: "start-postgres",
        what: Figure::StartToReady(Database::Postgres),
        unit: "ms",
        most: 150.0,
    },
    Single {
        name: "start-sqlite",
        what: Figure::StartToReady(Database::Sqlite),
        unit: "ms",
        most: 150.0,
    },
    Single {
        name: "binary",
        what: Figure::BinarySize,
        unit: "MiB",
        most: 25.0,
    },
    Single {
        name: "idle-postgres",
        what: Figure::IdleMemory(Database::Postgres),
        unit: "MiB",
        most: 30.0,
    },
    Single {
        name: "idle-sqlite",
        what: Figure::IdleMemory(Database::Sqlite),
        unit: "MiB",
        most: 30.0,
    },
];

/// The names of all rows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let pairs = PAIRS.iter().map(|pair| pair.name);
    pairs.chain(SINGLES.iter().map(|single| single.name))
}
