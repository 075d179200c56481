//! Connecting where a name has several addresses, or the URL names several servers.
//!
//! `tokio-postgres` also tries them in order, but waits for each, and reports the error of the last. A server that refuses the
//! password is more informative than an address at which nothing listens, such as `::1` on a machine without
//! IPv6.

use std::net::IpAddr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::net::lookup_host;
use tokio::time::timeout;
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Error, Socket};

use super::connection_refused::ConnectionRefused;

/// How long an address is tried before the next one is tried beside it, as in RFC 8305: an address may not answer, and
/// all addresses together have the time of one connection.
const HEAD_START: Duration = Duration::from_millis(400);

/// Connects to the first address that accepts; otherwise returns the most specific error.
pub(super) async fn connect<T>(
    config: &Config,
    tls: T,
) -> Result<(Client, Connection<Socket, T::Stream>), Error>
where
    T: MakeTlsConnect<Socket> + Clone,
{
    let mut untried = addresses(config).await.into_iter();
    let mut attempts = FuturesUnordered::new();
    let mut most_specific = None;
    loop {
        if let Some(address) = untried.next() {
            let tls = tls.clone();
            attempts.push(async move { address.connect(tls).await });
        }
        let finished = if untried.len() == 0 {
            attempts.next().await
        } else {
            match timeout(HEAD_START, attempts.next()).await {
                Ok(finished) => finished,
                Err(_) => continue,
            }
        };
        match finished {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(error)) => {
                // Of equally specific errors, the first is kept.
                if most_specific
                    .as_ref()
                    .is_none_or(|most_specific| specificity(&error) > specificity(most_specific))
                {
                    most_specific = Some(error);
                }
            }
            None => break,
        }
    }
    match most_specific {
        Some(error) => Err(error),
        None => config.connect(tls).await,
    }
}

/// How specific a connection error is, in ascending order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    /// No server answered at any address.
    Nothing,
    /// A server answered with a temporary error.
    Answer,
    /// A server answered and refuses this URL.
    Refusal,
}

fn specificity(error: &Error) -> Specificity {
    if ConnectionRefused::from_error(error).is_some() {
        Specificity::Refusal
    } else if error.as_db_error().is_some() {
        Specificity::Answer
    } else {
        Specificity::Nothing
    }
}

/// Why each host of the URL refuses; `None` if one of them may accept connections later. Of several servers
/// one may refuse, such as a standby, while the one that would accept is away. An address that does not
/// answer in time counts as one at which nothing listens.
pub(super) async fn refusal_of_every_host<T>(
    config: &Config,
    tls: T,
    time_per_address: Duration,
) -> Option<ConnectionRefused>
where
    T: MakeTlsConnect<Socket> + Clone,
{
    let mut refusal = None;
    for host in hosts(config) {
        let mut answers = Vec::new();
        for address in addresses_of(host).await {
            let is_ipv4 = address.get_hostaddrs().first().is_some_and(IpAddr::is_ipv4);
            let answer = match timeout(time_per_address, address.connect(tls.clone())).await {
                Ok(Ok(_)) => return None,
                Ok(Err(error)) => Answer::from_error(&error),
                Err(_) => Answer::Nothing,
            };
            answers.push((is_ipv4, answer));
        }
        refusal = Some(refusal_of_host(answers)?);
    }
    refusal
}

/// How an address of a host fails.
enum Answer {
    Nothing,
    NotNow,
    Refusal(ConnectionRefused),
}

impl Answer {
    fn from_error(error: &Error) -> Self {
        match ConnectionRefused::from_error(error) {
            Some(refusal) => Self::Refusal(refusal),
            None if error.as_db_error().is_some() => Self::NotNow,
            None => Self::Nothing,
        }
    }
}

/// Why a host refuses at all its addresses, each with whether it is one of IPv4. Several addresses of one
/// family may be several servers, so each of them must refuse. Those of the other family are mostly the same
/// servers', which may listen at one family alone: they may be silent.
fn refusal_of_host(answers: Vec<(bool, Answer)>) -> Option<ConnectionRefused> {
    let refuses = |family| {
        let mut answers = answers.iter();
        answers.any(|(is_ipv4, answer)| *is_ipv4 == family && matches!(answer, Answer::Refusal(_)))
    };
    let may_accept_later = answers.iter().any(|(is_ipv4, answer)| match answer {
        Answer::Nothing => refuses(*is_ipv4),
        Answer::NotNow => true,
        Answer::Refusal(_) => false,
    });
    if may_accept_later {
        return None;
    }
    answers.into_iter().find_map(|(_, answer)| match answer {
        Answer::Refusal(refusal) => Some(refusal),
        Answer::Nothing | Answer::NotNow => None,
    })
}

/// One configuration per address, in the order in which to try them.
async fn addresses(config: &Config) -> Vec<Config> {
    // `tokio-postgres` implements the random order.
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        return vec![config.clone()];
    }
    let mut addresses = Vec::new();
    for host in hosts(config) {
        addresses.extend(addresses_of(host).await);
    }
    addresses
}

/// One configuration for each host that the URL names.
fn hosts(config: &Config) -> Vec<Config> {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let mut one = without_hosts(config);
        one.port(*ports.get(index).or_else(|| ports.first()).unwrap_or(&5432));
        match host {
            Host::Tcp(name) => one.host(name),
            #[cfg(unix)]
            Host::Unix(folder) => one.host_path(folder),
        };
        if let Some(address) = config.get_hostaddrs().get(index) {
            one.hostaddr(*address);
        }
        one
    });
    hosts.collect()
}

/// One configuration for each address of the one host.
async fn addresses_of(host: Config) -> Vec<Config> {
    let ([Host::Tcp(name)], [port], []) = (host.get_hosts(), host.get_ports(), host.get_hostaddrs()) else {
        return vec![host];
    };
    let found = lookup_host((name.as_str(), *port)).await;
    let addresses: Vec<Config> = found
        .into_iter()
        .flatten()
        .map(|address| host.clone().hostaddr(address.ip()).clone())
        .collect();
    // `tokio-postgres` reports why the name does not resolve.
    if addresses.is_empty() {
        vec![host]
    } else {
        addresses
    }
}

/// The configuration without hosts and ports.
fn without_hosts(config: &Config) -> Config {
    let mut one = Config::new();
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(timeout) = config.get_connect_timeout() {
        one.connect_timeout(*timeout);
    }
    if let Some(timeout) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding());
    one
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;
    use tokio_postgres::{Config, NoTls};

    use super::{
        Answer, ConnectionRefused, addresses, refusal_of_every_host, refusal_of_host, without_hosts,
    };

    /// Everything that a URL can say, each with a value that it does not have by default.
    const URL: &str = "postgres://me:s3cret@127.0.0.1:1,127.0.0.2:2/db?options=-cx%3Dy&application_name=app\
                       &connect_timeout=3&tcp_user_timeout=4&keepalives=0&keepalives_idle=5&keepalives_interval=6\
                       &keepalives_retries=7&sslmode=require&sslnegotiation=direct&target_session_attrs=read-write\
                       &channel_binding=require";

    #[test]
    fn every_option_is_kept_without_the_hosts() {
        let config: Config = URL.parse().unwrap();
        let mut one = without_hosts(&config);
        one.host("127.0.0.1").host("127.0.0.2").port(1).port(2);
        assert_eq!(one, config);
    }

    #[tokio::test]
    async fn each_host_has_its_own_port() {
        let config: Config = URL.parse().unwrap();
        let found = addresses(&config).await;
        let ports: Vec<&[u16]> = found.iter().map(Config::get_ports).collect();
        assert_eq!(ports, [[1], [2]]);
        let last: Vec<String> = found
            .iter()
            .map(|one| one.get_hostaddrs()[0].to_string())
            .collect();
        assert_eq!(last, ["127.0.0.1", "127.0.0.2"]);
    }

    #[test]
    fn host_refuses_when_every_address_of_a_family_refuses() {
        let refusal = || Answer::Refusal(ConnectionRefused::User("nobody".to_owned()));
        for (answers, is_final) in [
            (vec![(true, refusal())], true),
            (vec![(true, refusal()), (true, refusal())], true),
            (vec![(false, Answer::Nothing), (true, refusal())], true),
            (vec![(true, refusal()), (true, Answer::Nothing)], false),
            (vec![(false, Answer::NotNow), (true, refusal())], false),
            (vec![(true, Answer::Nothing)], false),
            (vec![], false),
        ] {
            assert_eq!(refusal_of_host(answers).is_some(), is_final);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_host_is_waited_for_only_so_long() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let config: Config = format!("postgres://me@127.0.0.1:{port}/db").parse().unwrap();
        let refusal = refusal_of_every_host(&config, NoTls, Duration::from_secs(2)).await;
        assert_eq!(refusal, None);
    }
}
