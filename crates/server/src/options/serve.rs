//! The options of `keyward serve`, and of `keyward healthcheck`, which asks it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ipnet::IpNet;
use keyward_front_door::{ForwardedHeader, parse_network};

use super::rate_limits::RateLimitOptions;
use super::retention::RetentionOptions;
use super::storage::{DatabaseOptions, LoggingOptions};
use super::traces::TraceOptions;

/// The default address to listen on.
const LISTEN: &str = "127.0.0.1:8080";

/// Options in groups, each under a heading of its own in the help.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    #[command(flatten)]
    pub(crate) server: ServerOptions,
    #[command(flatten)]
    pub(crate) database: DatabaseOptions,
    /// The maximum number of connections to a PostgreSQL database, besides the one for the verification cache
    #[arg(long, env = "KEYWARD_DATABASE_POOL_SIZE", value_name = "NUMBER", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "Database")]
    pub(crate) database_pool_size: u16,
    /// Whether to keep verifications of valid keys in memory
    ///
    /// A revocation is answered only when no server accepts the key any more: usually after some
    /// milliseconds, after 5 seconds if a server does not respond.
    #[arg(
        long,
        env = "KEYWARD_VERIFICATION_CACHE",
        value_name = "ON_OR_OFF",
        value_enum,
        default_value = "on",
        help_heading = "Verification cache"
    )]
    pub(crate) verification_cache: Switch,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
    #[command(flatten)]
    pub(crate) rate_limits: RateLimitOptions,
    #[command(flatten)]
    pub(crate) retention: RetentionOptions,
    #[command(flatten)]
    pub(crate) proxies: ProxyOptions,
    /// The file with the services that may introspect tokens; without it, introspection is off
    ///
    /// Each line is one from `keyward verifier create`; empty lines and lines that begin with # are ignored.
    /// A changed file is read again within seconds. If it cannot be read then, the verifiers before the
    /// change stay.
    #[arg(
        long,
        env = "KEYWARD_VERIFIERS",
        value_name = "FILE",
        help_heading = "Introspection"
    )]
    pub(crate) verifiers: Option<PathBuf>,
    /// The file with the public keys of GitHub's secret scanning; without it, its reports are answered 404
    ///
    /// It holds what <https://api.github.com/meta/public_keys/secret_scanning> returns. A changed file is
    /// read again within seconds. If it cannot be read then, the keys before the change stay.
    #[arg(
        long,
        env = "KEYWARD_GITHUB_KEYS",
        value_name = "FILE",
        help_heading = "Secret scanning"
    )]
    pub(crate) github_keys: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) traces: TraceOptions,
    #[command(flatten)]
    pub(crate) logging: LoggingOptions,
}

/// The addresses of the server, and whether it serves the demo.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerOptions {
    /// The address and port to listen on; port 0 chooses a free one
    #[arg(
        long,
        env = "KEYWARD_LISTEN",
        value_name = "ADDRESS:PORT",
        value_parser = listening_address,
        default_value = LISTEN
    )]
    pub(crate) listen: SocketAddr,
    /// The address and port on which to serve metrics for Prometheus, without authentication, such as
    /// `127.0.0.1:9464`
    ///
    /// Anyone who can reach this address can read them: keep it on this machine or in a network of its own. Must
    /// be another port than that of --listen. Default: no metrics.
    #[arg(long, env = "KEYWARD_METRICS_LISTEN", value_name = "ADDRESS:PORT", value_parser = listening_address)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Where people reach this server, such as `https://keys.example.com`
    ///
    /// Must be https, or http on this machine (localhost, 127.0.0.0/8, ::1), without a path. Keyward speaks
    /// plain HTTP: put a proxy with TLS in front of it. Links, cookies and the protection against cross-site
    /// requests depend on it. Default: the listening address.
    #[arg(long, env = "KEYWARD_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Serve made-up data, on this machine only, in a database that is removed at the end
    ///
    /// Prints a username, its password and a `curl` command with a key. Cannot be combined with a database or
    /// a data directory. Retention is off, because much of the data is made to look old.
    #[arg(long)]
    pub(crate) demo: bool,
}

/// Which server to ask.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckOptions {
    /// The address and port on which the server listens
    #[arg(
        long,
        env = "KEYWARD_LISTEN",
        value_name = "ADDRESS:PORT",
        value_parser = listening_address,
        default_value = LISTEN
    )]
    pub(crate) listen: SocketAddr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// How much of anything there may be, and for how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitOptions {
    /// The maximum number of valid keys of a consumer: 1 to 1,000,000
    #[arg(long, env = "KEYWARD_KEY_LIMIT", value_name = "NUMBER", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) key_limit: u32,
    /// How many keys a consumer may create and edit per minute, in the console and with its keys together: 1
    /// to 6,000; revoking is not limited
    #[arg(long, env = "KEYWARD_CHANGE_RATE", value_name = "NUMBER", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(1..=6_000))]
    pub(crate) change_rate: u32,
    /// How many keys a consumer may create and edit in one burst: 1 to 100,000
    #[arg(long, env = "KEYWARD_CHANGE_BURST", value_name = "NUMBER", default_value_t = 120,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) change_burst: u32,
    /// The maximum number of connections at once; further ones wait. Default: as many as the limit of open
    /// files allows and half of the memory holds
    #[arg(long, env = "KEYWARD_MAX_CONNECTIONS", value_name = "NUMBER")]
    pub(crate) max_connections: Option<usize>,
    /// How long a connection may stay idle between two requests; a proxy in front must close its connections
    /// sooner
    #[arg(long, env = "KEYWARD_KEEP_ALIVE_TIMEOUT", value_name = "SECONDS", default_value = "300",
          value_parser = seconds_above_zero)]
    pub(crate) keep_alive_timeout: Duration,
    /// How long to keep accepting connections after SIGTERM while /readyz fails, so that a load balancer
    /// stops sending
    #[arg(long, env = "KEYWARD_SHUTDOWN_DELAY", value_name = "SECONDS", default_value = "0",
          value_parser = seconds)]
    pub(crate) shutdown_delay: Duration,
    /// How long requests in flight may take to finish after that
    #[arg(long, env = "KEYWARD_DRAIN_TIMEOUT", value_name = "SECONDS", default_value = "20",
          value_parser = seconds)]
    pub(crate) drain_timeout: Duration,
}

/// Trusted reverse proxies (addresses or networks).
#[derive(Debug, Args)]
#[command(next_help_heading = "Proxies")]
pub(crate) struct ProxyOptions {
    /// Trusted reverse proxies (an address or network), which report the client's address; may be given
    /// several times, or as a list with commas and no spaces. Default: none
    #[arg(
        long = "trusted-proxy",
        env = "KEYWARD_TRUSTED_PROXY",
        value_name = "NETWORK",
        value_delimiter = ',',
        value_parser = parse_network
    )]
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// The header in which trusted proxies report the client's address; the other one is ignored
    #[arg(
        long,
        env = "KEYWARD_FORWARDED_HEADER",
        value_name = "HEADER",
        value_enum,
        default_value = "x-forwarded-for"
    )]
    pub(crate) forwarded_header: HeaderOfProxies,
}

/// A header in which proxies report the client's address.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum HeaderOfProxies {
    /// X-Forwarded-For, which nearly every proxy sets
    XForwardedFor,
    /// RFC 7239
    Forwarded,
}

impl From<HeaderOfProxies> for ForwardedHeader {
    fn from(header: HeaderOfProxies) -> Self {
        match header {
            HeaderOfProxies::XForwardedFor => Self::XForwardedFor,
            HeaderOfProxies::Forwarded => Self::Forwarded,
        }
    }
}

fn listening_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(
        |_| "expected an IP address, not a name, and a port: 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080",
    )
}

/// A span of time in whole seconds, at most an hour.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 0..=3600) => Ok(Duration::from_secs(seconds)),
        Ok(_) | Err(_) => Err("expected a number of seconds, at most 3600".to_owned()),
    }
}

fn seconds_above_zero(text: &str) -> Result<Duration, String> {
    let seconds = seconds(text)?;
    if seconds.is_zero() {
        Err("expected at least 1 second".to_owned())
    } else {
        Ok(seconds)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use keyward_domain::ports::KeyLimits;
    use keyward_domain::rate::Rate;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        server: ServerOptions,
        #[command(flatten)]
        limits: LimitOptions,
    }

    #[test]
    fn omitted_options_listen_locally_with_the_domains_limits() {
        let Line { server, limits } = Line::parse_from(["keyward"]);
        assert!(server.listen.ip().is_loopback());
        assert_eq!(server.listen.port(), 8080);
        let KeyLimits { valid, changes } = KeyLimits::default();
        assert_eq!(limits.key_limit, valid.0);
        assert_eq!(Rate::per_minute(limits.change_rate, limits.change_burst), changes);
    }

    #[test]
    fn durations_are_whole_seconds_up_to_an_hour() {
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert_eq!(seconds("3600"), Ok(Duration::from_secs(3600)));
        for text in ["", "-1", "1.5", "20s", "3601"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert!(seconds_above_zero("0").is_err());
        assert_eq!(seconds_above_zero("1"), Ok(Duration::from_secs(1)));
    }
}
