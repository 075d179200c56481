//! Parses the database URL. Error messages are safe to show: none repeats text that could be a password.

use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslNegotiation};

use super::tls::{Roots, TlsMode};

/// Why a text is not a valid database URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDatabaseUrl {
    /// Something else than a PostgreSQL URL.
    #[error("the database URL must look like postgres://user:password@host:port/database")]
    Form,
    /// An `@` after the host, most likely part of an unescaped password.
    #[error(
        "the database URL has an @ after its host: write the special characters of user and password as %40 (@), \
         %2F (/), %3F (?), %23 (#)"
    )]
    Unescaped,
    /// No host, and no socket folder.
    #[error("the database URL names no host: it must look like postgres://user:password@host:port/database")]
    NoHost,
    /// An option of libpq has a value that is not understood, or is not supported here.
    #[error("the option {0} in the database URL is not supported, or its value is invalid")]
    Option(&'static str),
    /// An option that libpq does not know. Its name is not repeated: it may be part of a password.
    #[error("the database URL has an unknown option: check its spelling, and write an & in a value as %26")]
    UnknownOption,
    /// An option that decides about TLS has several values.
    #[error("the option {0} is in the database URL more than once: keep one of them")]
    Repeated(&'static str),
    /// `sslmode` is none of the known words.
    #[error("sslmode in the database URL must be disable, prefer, require, verify-ca or verify-full")]
    SslMode,
    /// `sslrootcert` has no effect with this `sslmode`.
    #[error(
        "sslrootcert in the database URL has a meaning only with sslmode=verify-ca or sslmode=verify-full"
    )]
    UnusedRootCertificates,
    /// `verify-ca` with the system's roots would accept any public certificate.
    #[error("sslmode=verify-ca in the database URL needs sslrootcert to name a file")]
    NoRootCertificates,
    /// TLS over a local socket, which does not support it.
    #[error(
        "the database URL asks for TLS over a local socket, which has none: remove sslmode or name a host"
    )]
    TlsOverSocket,
    /// `sslnegotiation=direct` with an `sslmode` that does not require TLS.
    #[error("sslnegotiation=direct in the database URL needs sslmode=require, verify-ca or verify-full")]
    DirectNegotiation,
}

/// The options that a URL for libpq may have (PostgreSQL documentation, §34.1.2), here or not.
const LIBPQ_OPTIONS: [&str; 37] = [
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "krbsrvname",
    "load_balance_hosts",
    "options",
    "passfile",
    "password",
    "port",
    "replication",
    "require_auth",
    "requirepeer",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcrl",
    "sslkey",
    "sslnegotiation",
    "sslpassword",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Reads a URL with the TLS options of libpq, which `tokio-postgres` does not know.
pub(super) fn parse(url: &str) -> Result<(Config, TlsMode), InvalidDatabaseUrl> {
    let rest = ["postgres://", "postgresql://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme))
        .ok_or(InvalidDatabaseUrl::Form)?;
    let authority_length = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path_and_options) = rest.split_at(authority_length);
    let (path, options) = path_and_options.split_once('?').unwrap_or((path_and_options, ""));
    if authority.matches('@').count() > 1 || path_and_options.contains(['@', '#']) {
        return Err(InvalidDatabaseUrl::Unescaped);
    }

    let (tls_options, other_options): (Vec<_>, Vec<_>) = options
        .split('&')
        .filter(|option| !option.is_empty())
        .map(|option| option.split_once('=').unwrap_or((option, "")))
        .partition(|(name, _)| matches!(*name, "sslmode" | "sslrootcert"));
    let tls = tls_mode(&tls_options)?;

    let config = without_options(authority, path)?;
    let config = if other_options.is_empty() {
        config
    } else {
        let options: Vec<String> = other_options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("postgres://{authority}{path}?{}", options.join("&"))
            .parse()
            .map_err(|_| refused_option(authority, path, &other_options))?
    };
    check_hosts(&config, &tls)?;
    Ok((config, tls))
}

fn without_options(authority: &str, path: &str) -> Result<Config, InvalidDatabaseUrl> {
    format!("postgres://{authority}{path}")
        .parse()
        .map_err(|_| InvalidDatabaseUrl::Form)
}

/// Finds the first option that is invalid on its own.
fn refused_option(authority: &str, path: &str, options: &[(&str, &str)]) -> InvalidDatabaseUrl {
    let is_refused = |name: &str, value: &str| {
        let alone = format!("postgres://{authority}{path}?{name}={value}");
        alone.parse::<Config>().is_err()
    };
    options
        .iter()
        .find(|(name, value)| is_refused(name, value))
        .and_then(|(name, _)| LIBPQ_OPTIONS.iter().find(|known| *known == name))
        .map_or(InvalidDatabaseUrl::UnknownOption, |known| {
            InvalidDatabaseUrl::Option(known)
        })
}

fn tls_mode(options: &[(&str, &str)]) -> Result<TlsMode, InvalidDatabaseUrl> {
    // libpq takes the last value. Which it is decides whether the server is verified, so two are refused.
    let only = |wanted: &'static str| {
        let mut values = options.iter().filter(|(name, _)| *name == wanted);
        let value = values.next().map(|(_, value)| *value);
        match values.next() {
            Some(_) => Err(InvalidDatabaseUrl::Repeated(wanted)),
            None => Ok(value),
        }
    };
    let roots = only("sslrootcert")?.map(roots).transpose()?;
    match (only("sslmode")?.unwrap_or("prefer"), roots) {
        ("disable", None) => Ok(TlsMode::Disable),
        ("prefer", None) => Ok(TlsMode::Prefer),
        ("require", None) => Ok(TlsMode::Require),
        ("disable" | "prefer" | "require", Some(_)) => Err(InvalidDatabaseUrl::UnusedRootCertificates),
        ("verify-ca", Some(Roots::File(file))) => Ok(TlsMode::VerifyCa(file)),
        ("verify-ca", None | Some(Roots::System)) => Err(InvalidDatabaseUrl::NoRootCertificates),
        ("verify-full", roots) => Ok(TlsMode::VerifyFull(roots.unwrap_or(Roots::System))),
        _ => Err(InvalidDatabaseUrl::SslMode),
    }
}

fn roots(value: &str) -> Result<Roots, InvalidDatabaseUrl> {
    match percent_decoded(value).ok_or(InvalidDatabaseUrl::Option("sslrootcert"))? {
        file if file.is_empty() => Err(InvalidDatabaseUrl::Option("sslrootcert")),
        word if word == "system" => Ok(Roots::System),
        file => Ok(Roots::File(PathBuf::from(file))),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return String::from_utf8(bytes).ok(),
            [b'%', high, low, rest @ ..] => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest
            }
            [b'%', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

fn check_hosts(config: &Config, tls: &TlsMode) -> Result<(), InvalidDatabaseUrl> {
    let names_a_host = config.get_hosts().iter().any(|host| match host {
        Host::Tcp(name) => !name.is_empty(),
        #[cfg(unix)]
        Host::Unix(_) => true,
    });
    if !names_a_host {
        return Err(InvalidDatabaseUrl::NoHost);
    }
    #[cfg(unix)]
    if tls.is_certain()
        && config
            .get_hosts()
            .iter()
            .any(|host| matches!(host, Host::Unix(_)))
    {
        return Err(InvalidDatabaseUrl::TlsOverSocket);
    }
    if config.get_ssl_negotiation() == SslNegotiation::Direct && !tls.is_certain() {
        return Err(InvalidDatabaseUrl::DirectNegotiation);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> InvalidDatabaseUrl {
        parse(url).unwrap_err()
    }

    fn mode(options: &str) -> TlsMode {
        parse(&format!("postgres://me:s3cret@host/db{options}"))
            .unwrap()
            .1
    }

    #[test]
    fn each_sslmode_has_its_libpq_meaning() {
        assert_eq!(mode(""), TlsMode::Prefer);
        assert_eq!(mode("?sslmode=disable"), TlsMode::Disable);
        assert_eq!(mode("?sslmode=prefer&connect_timeout=3"), TlsMode::Prefer);
        assert_eq!(mode("?sslmode=require"), TlsMode::Require);
        assert_eq!(mode("?sslmode=verify-full"), TlsMode::VerifyFull(Roots::System));
        assert_eq!(
            mode("?sslmode=verify-full&sslrootcert=system"),
            TlsMode::VerifyFull(Roots::System)
        );
        assert_eq!(
            mode("?sslrootcert=/etc/a%20b.pem&sslmode=verify-ca"),
            TlsMode::VerifyCa("/etc/a b.pem".into())
        );
    }

    #[test]
    fn requested_tls_is_never_silently_ignored() {
        let with = |options: &str| refusal(&format!("postgres://me@host/db?{options}"));
        assert_eq!(with("sslmode=verify_full"), InvalidDatabaseUrl::SslMode);
        assert_eq!(with("sslmode="), InvalidDatabaseUrl::SslMode);
        assert_eq!(
            with("sslrootcert=/ca.pem"),
            InvalidDatabaseUrl::UnusedRootCertificates
        );
        assert_eq!(with("sslmode=verify-ca"), InvalidDatabaseUrl::NoRootCertificates);
        assert_eq!(with("sslcert=/me.pem"), InvalidDatabaseUrl::Option("sslcert"));
        assert_eq!(with("port=many"), InvalidDatabaseUrl::Option("port"));
        assert_eq!(with("ssl_mode=require"), InvalidDatabaseUrl::UnknownOption);
        assert_eq!(
            refusal("postgres:///db?host=/run/postgresql&sslmode=require"),
            InvalidDatabaseUrl::TlsOverSocket
        );
        assert_eq!(
            with("sslnegotiation=direct"),
            InvalidDatabaseUrl::DirectNegotiation
        );
    }

    #[test]
    fn repeated_tls_option_is_refused() {
        for (options, repeated) in [
            ("sslmode=disable&sslmode=verify-full", "sslmode"),
            ("sslmode=require&sslmode=require", "sslmode"),
            ("sslmode=verify-full&sslrootcert=/a&sslrootcert=/b", "sslrootcert"),
        ] {
            let refusal = refusal(&format!("postgres://me@host/db?{options}"));
            assert_eq!(refusal, InvalidDatabaseUrl::Repeated(repeated), "{options}");
        }
    }

    #[test]
    fn other_url_options_are_preserved() {
        let (config, _) =
            parse("postgresql://me@host:5433/db?application_name=here&sslmode=disable").unwrap();
        assert_eq!(config.get_application_name(), Some("here"));
        assert_eq!(config.get_ports(), [5433]);
        assert!(parse("postgres:///db?host=/run/postgresql").is_ok());
    }

    #[test]
    fn rejection_and_debug_output_hide_the_password() {
        for url in [
            "mysql://me:s3cret@host/db",
            "s3cret",
            "postgres://me:s3cret@/db",
            "postgres://me:s3cret@host:port/db",
            "postgres://%ff:s3cret@host/db",
            "postgres://me:p@s3cret@host/db",
            "postgres://me:p/s3cret@host/db",
            "postgres://me:p?s3cret@host/db",
            "postgres://me:p#s3cret@host/db",
            "postgres://me:s3cret@host/db?port=s3cret",
            "postgres://me@host/db?password=s3cret&nonsense=1",
            "postgres://me@host/db?password=my&s3cret",
            "postgres://me:s3cret@host/db?sslmode=s3cret",
        ] {
            let refusal = refusal(url);
            assert!(!refusal.to_string().contains("s3cret"), "{refusal}");
            assert!(!format!("{refusal:?}").contains("s3cret"), "{refusal:?}");
        }
        let config = crate::postgres::PostgresConfig::from_url("postgres://me:s3cret@host/db").unwrap();
        assert!(!format!("{config:?}").contains("s3cret"));
    }
}
