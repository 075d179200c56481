//! A `keyward serve` that runs while the test asks it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::keyward::Keyward;

/// How long anything that should happen soon may take on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// The process; killed with this value if it has not ended.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: String,
    events: Receiver<String>,
    log: String,
}

impl Server {
    /// Serves a database on a free port.
    pub(crate) fn start(database_url: &str, arguments: &[&str]) -> Self {
        Self::begin(database_url, arguments).listening()
    }

    /// Serves the embedded database in a data directory on a free port.
    pub(crate) fn start_in(data_directory: &Path) -> Self {
        let data_directory = data_directory.to_str().unwrap();
        let keyward = Keyward::new(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data_directory]);
        Self::spawn(keyward).listening()
    }

    /// Starts it as it is.
    pub(crate) fn listening_as(keyward: Keyward) -> Self {
        Self::spawn(keyward).listening()
    }

    /// Begins to, and may be anywhere on the way.
    pub(crate) fn begin(database_url: &str, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        Self::spawn(Keyward::new(&arguments).database(database_url))
    }

    pub(crate) fn listening(mut self) -> Self {
        let listening = self.event("listening");
        self.address = listening["address"].as_str().unwrap().to_owned();
        self
    }

    pub(crate) fn spawn(keyward: Keyward) -> Self {
        let mut process = keyward
            .into_command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = process.stderr.take().unwrap();
        let (sender, events) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self {
            process,
            address: String::new(),
            events,
            log: String::new(),
        }
    }

    /// Its output up to the line with this beginning.
    #[track_caller]
    pub(crate) fn printed_until(&mut self, last: &str) -> String {
        let mut printed = String::new();
        for line in BufReader::new(self.process.stdout.as_mut().unwrap()).lines() {
            let line = line.unwrap();
            printed.push_str(&line);
            printed.push('\n');
            if line.starts_with(last) {
                return printed;
            }
        }
        panic!("no line `{last}` in:\n{printed}");
    }

    /// The next event with this message.
    #[track_caller]
    pub(crate) fn event(&mut self, message: &str) -> Value {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.events.recv_timeout(left) else {
                panic!("no event `{message}` in time:\n{}", self.log);
            };
            self.log.push_str(&line);
            self.log.push('\n');
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no event: {line}"));
            if event["message"] == message {
                return event;
            }
        }
    }

    /// Sends a request and reads the answer to its end.
    pub(crate) fn ask(&self, method: &str, path: &str, more: &[&str], body: &str) -> HttpAnswer {
        let mut stream = self.connect();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.address
        );
        for header in more {
            request.push_str(header);
            request.push_str("\r\n");
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        HttpAnswer::parse(&answer)
    }

    pub(crate) fn get(&self, path: &str) -> HttpAnswer {
        self.ask("GET", path, &[], "")
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// The status of its process (proc(5)).
    pub(crate) fn process_status(&self) -> String {
        fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap()
    }

    /// Waits until it has ended by itself; everything it logged, and how it ended.
    pub(crate) fn ended(&mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + TIMEOUT;
        // The log ends when the process does.
        while let Ok(line) = self
            .events
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.log.push_str(&line);
            self.log.push('\n');
        }
        assert!(Instant::now() < deadline, "it does not end:\n{}", self.log);
        (self.process.wait().unwrap(), self.log.clone())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The log line after which another signal ends the server at once.
pub(crate) const NEXT_SIGNAL_COUNTS: &str = "still shutting down: another signal stops it at once";

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpAnswer {
    pub(crate) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self {
            status: status.unwrap_or_else(|| panic!("no answer: {text}")),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}
