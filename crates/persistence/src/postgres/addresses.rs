//! Connecting where a name has several addresses, or the URL names several servers.
//!
//! `tokio-postgres` also tries them in order, but reports the error of the last. A server that refuses the password is
//! more informative than an address at which nothing listens, such as `::1` on a machine without IPv6.

use tokio::net::lookup_host;
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Error, Socket};

use super::connection_refused::ConnectionRefused;

/// Connects to the first address that accepts; otherwise returns the most specific error.
pub(super) async fn connect<T>(
    config: &Config,
    tls: T,
) -> Result<(Client, Connection<Socket, T::Stream>), Error>
where
    T: MakeTlsConnect<Socket> + Clone,
{
    let mut told = None;
    for address in addresses(config).await {
        match address.connect(tls.clone()).await {
            Ok(connected) => return Ok(connected),
            Err(error) => {
                // Of equally specific errors, the first is kept.
                if told.as_ref().is_none_or(|told| says(&error) > says(told)) {
                    told = Some(error);
                }
            }
        }
    }
    match told {
        Some(error) => Err(error),
        None => config.connect(tls).await,
    }
}

/// How specific a connection error is, in ascending order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    /// No server answered.
    Nothing,
    /// A server answered with a temporary error.
    Answer,
    /// A server answered and refuses this URL.
    Refusal,
}

fn says(error: &Error) -> Says {
    if ConnectionRefused::from_error(error).is_some() {
        Says::Refusal
    } else if error.as_db_error().is_some() {
        Says::Answer
    } else {
        Says::Nothing
    }
}

/// One configuration per address, in the order in which to try them.
async fn addresses(config: &Config) -> Vec<Config> {
    // `tokio-postgres` implements the random order.
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        return vec![config.clone()];
    }
    let mut addresses = Vec::new();
    for (index, host) in config.get_hosts().iter().enumerate() {
        let ports = config.get_ports();
        let port = *ports.get(index).or_else(|| ports.first()).unwrap_or(&5432);
        let mut one = without_hosts(config);
        one.port(port);
        let name = match host {
            Host::Tcp(name) => name,
            #[cfg(unix)]
            Host::Unix(folder) => {
                one.host_path(folder);
                addresses.push(one);
                continue;
            }
        };
        one.host(name);
        if let Some(address) = config.get_hostaddrs().get(index) {
            addresses.push(one.hostaddr(*address).clone());
            continue;
        }
        let found = lookup_host((name.as_str(), port)).await;
        let before = addresses.len();
        addresses.extend(
            found
                .into_iter()
                .flatten()
                .map(|address| one.clone().hostaddr(address.ip()).clone()),
        );
        // `tokio-postgres` reports why the name does not resolve.
        if addresses.len() == before {
            addresses.push(one);
        }
    }
    addresses
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
    use tokio_postgres::Config;

    use super::{addresses, without_hosts};

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
    async fn each_host_is_an_address_with_its_own_port() {
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
}
