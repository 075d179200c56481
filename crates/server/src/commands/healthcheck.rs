//! `keyward healthcheck`: whether the server on this machine runs, for images and supervisors that have no
//! HTTP client.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use super::Failure;
use crate::options::HealthcheckOptions;

/// How long the server may take for each of: to accept, to read the request, to answer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Asks `/healthz`, which waits for no database.
pub(crate) fn run(options: &HealthcheckOptions) -> Result<(), Failure> {
    let address = on_this_machine(options.listen);
    let status = ask(address).map_err(|source| Failure::NoHealthAnswer { address, source })?;
    if status.starts_with("HTTP/1.1 200 ") {
        Ok(())
    } else {
        Err(Failure::NotHealthy { address })
    }
}

/// A server that listens on every address is asked on the loopback one.
fn on_this_machine(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

/// The first bytes of the answer: its status line.
fn ask(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    // In one piece, because a server that answers a part may close the connection before the rest.
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut status = [0; "HTTP/1.1 200 ".len()];
    stream.read_exact(&mut status)?;
    Ok(String::from_utf8_lossy(&status).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_on_all_addresses_is_asked_on_loopback() {
        for (listening, asked) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(
                on_this_machine(listening.parse().unwrap()),
                asked.parse().unwrap()
            );
        }
    }
}
