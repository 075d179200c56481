//! Clients behind nginx, which buffers requests and answers, while others hold all connections.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    time::Duration,
};

use futures_util::future::join_all;
use tempfile::TempDir;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    app::LARGE,
    client::{Client, eventually},
    running::Running,
};

const CONNECTIONS: usize = 8;

/// Enough that others always wait for a connection.
const HOLDERS: usize = 3 * CONNECTIONS;

/// Longer than a client may stall while the server is saturated (at most 1 s).
const SLOW: Duration = Duration::from_millis(1_500);

/// nginx with a folder of its own.
struct Nginx {
    process: Child,
    _folder: TempDir,
    address: SocketAddr,
}

impl Nginx {
    async fn start(upstream: SocketAddr) -> Self {
        let folder = TempDir::new().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("a free port");
        drop(free);
        let here = folder.path().display();
        // What docs/behind-a-proxy.md configures, but for paths and traces of the application.
        let configuration = format!(
            "daemon off; master_process off; error_log stderr; pid {here}/pid;
             events {{ worker_connections 256; }}
             http {{
                 access_log off;
                 client_body_temp_path {here}/body; proxy_temp_path {here}/proxy; fastcgi_temp_path {here}/fastcgi;
                 uwsgi_temp_path {here}/uwsgi; scgi_temp_path {here}/scgi;
                 upstream keyward {{ server {upstream}; keepalive 32; }}
                 server {{
                     listen {address};
                     location / {{
                         proxy_pass http://keyward;
                         proxy_http_version 1.1;
                         proxy_set_header Connection \"\";
                         proxy_set_header Host $host;
                         proxy_set_header X-Forwarded-For $remote_addr;
                         proxy_set_header X-Request-Id $request_id;
                     }}
                 }}
             }}"
        );
        fs::write(folder.path().join("nginx.conf"), configuration).expect("a configuration");
        let path = std::env::var("PATH").unwrap_or_default();
        let process = Command::new("nginx")
            .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
            .arg(folder.path())
            .env("PATH", format!("{path}:/usr/sbin"))
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx starts (Debian: apt-get install nginx-light)");
        eventually(async || Client::try_connect(address).await.is_ok()).await;
        Self {
            process,
            _folder: folder,
            address,
        }
    }

    /// The status and length of the answer to a request that is sent in parts, with a pause before each but
    /// the first and before the answer is read.
    async fn ask_slowly(&self, parts: &[&str]) -> (u16, usize) {
        let mut client = Client::try_connect(self.address).await.expect("a connection");
        for part in parts {
            client.send(part).await;
            sleep(SLOW).await;
        }
        let answer = client.answer().await;
        (answer.status, answer.body.len())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Holds a connection with half a head for as long as the server lets it, again and again.
async fn hold(address: SocketAddr) {
    loop {
        if let Ok(mut client) = Client::try_connect(address).await
            && client.try_send("GET / HTTP/1.1\r\nHost: x\r\n").await.is_ok()
        {
            client.closed().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_behind_nginx_are_served_when_saturated() {
    let door = Running::with(|config| config.limits.connections = Some(CONNECTIONS)).await;
    let nginx = Nginx::start(door.address).await;
    let mut holders = JoinSet::new();
    for _ in 0..HOLDERS {
        holders.spawn(hold(door.address));
    }
    let clients = (0..4).map(async |_| {
        tokio::join!(
            nginx.ask_slowly(&["GET / HTTP/1.1\r\nHost: localhost\r\n", "\r\n"]),
            nginx.ask_slowly(&[
                "POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n12",
                "34"
            ]),
            nginx.ask_slowly(&["GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"]),
        )
    });
    let answers = timeout(Duration::from_secs(60), join_all(clients)).await;
    for (head, body, large) in answers.expect("answers in time") {
        assert_eq!((head.0, body, large), (200, (200, 1), (200, LARGE)));
    }
    assert!(
        holders.try_join_next().is_none(),
        "the connections were held all the time"
    );
}
