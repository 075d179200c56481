//! The ways to provide PostgreSQL for the tests.

use std::fmt;
use std::str::FromStr;

/// How the server is provided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// `TEST_DATABASE_URL` names a server that runs already.
    Url,
    /// A container that was started for the tests.
    Container,
    /// A private cluster from the machine's own PostgreSQL programs.
    Cluster,
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Url => "TEST_DATABASE_URL",
            Self::Container => "container",
            Self::Cluster => "private cluster",
        })
    }
}

/// Which backends may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first that is there: the URL, a container, a private cluster.
    #[default]
    Auto,
    /// A container or nothing.
    Containers,
    /// A private cluster or nothing.
    Cluster,
}

impl FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "containers" => Ok(Self::Containers),
            "cluster" => Ok(Self::Cluster),
            other => Err(format!("{other:?} is not auto, containers or cluster")),
        }
    }
}
