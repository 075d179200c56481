//! The rows of the bench: one entry for each, with request, reference and goal.

/// A server, and another program that is measured in turn with it.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) database: Database,
    pub(crate) cache: Cache,
    /// The request that is repeated.
    pub(crate) request: Request,
    pub(crate) rate: Rate,
    pub(crate) meanwhile: Meanwhile,
    pub(crate) against: Other,
    pub(crate) goal: Goal,
}

impl Pair {
    /// The values of most rows.
    pub(crate) const BASE: Self = Self {
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

/// Other work of the server that its reference does not have.
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
    /// Each client sends its next request once the last one was answered.
    Full,
    /// At this rate per second, regardless of the response time.
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
    /// The same server over a PostgreSQL database with a thousand keys and events.
    FewKeys,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Database {
    Postgres,
    /// With `--many-keys` keys and `--events` events stored. The keys are asked for all over the table, as many as
    /// are stored elsewhere.
    PostgresWithManyKeys,
    /// With a thousand keys and events stored.
    PostgresWithFewKeys,
    /// With an organization of three years, in which many people have `--many-keys` keys and `--events` events.
    PostgresWithLargeOrganization,
    Sqlite,
    /// The same organization of three years.
    SqliteWithLargeOrganization,
}

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
    /// The first page of the console's list of all keys.
    AllKeys,
    /// The last full page of it.
    AllKeysFarBack,
    /// The first page of the console's audit log.
    AuditLog,
    /// `POST /api/v1/user/api-keys`, by many consumers in turn.
    Create,
}

/// The goal; a missed one is no failure.
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
    pub(crate) const NONE: Self = Self {
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
    /// The goal, if there is one.
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
    /// Resident memory of a server that was asked for each of many keys once, and so keeps them.
    MemoryWithManyKeys,
    /// The growth of resident memory of a server without a limit on failed authentications after this many unknown
    /// tokens, each once.
    MemoryOfGuesses(usize),
    /// PostgreSQL's CPU time a second for this many servers without requests, which poll for changes.
    Polling(usize),
    /// From asking for a page of the console about a large organization until all of it is there.
    Page(Database, Person, &'static str),
}

/// The user who requests a page.
#[derive(Clone, Copy)]
pub(crate) enum Person {
    Owner,
    /// A member with every 33rd key.
    HolderOfMany,
}

impl Figure {
    /// The database that it is about.
    pub(crate) const fn database(self) -> Option<Database> {
        match self {
            Self::StartToReady(database) | Self::IdleMemory(database) | Self::Page(database, ..) => {
                Some(database)
            }
            Self::BinarySize => None,
            Self::MemoryWithManyKeys => Some(Database::PostgresWithManyKeys),
            Self::MemoryOfGuesses(_) | Self::Polling(_) => Some(Database::Postgres),
        }
    }
}
