//! Headless Chromium, driven through chromedriver.

use std::process::Stdio;
use std::time::{Duration, Instant};

use thirtyfour::error::{WebDriverError, WebDriverErrorInner};
use thirtyfour::prelude::*;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use keyward_tests::keyward::TIMEOUT;

/// A browser of one test's own. End it with [`Browser::close`].
pub(crate) struct Browser {
    pub(crate) driver: WebDriver,
    _chromedriver: Child,
}

impl Browser {
    /// Opens a browser with an empty profile.
    pub(crate) async fn open() -> Self {
        let (chromedriver, port) = start_chromedriver().await;
        let mut capabilities = DesiredCapabilities::chrome();
        for argument in [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--window-size=1280,900",
        ] {
            capabilities.add_arg(argument).expect("an argument");
        }
        let driver = WebDriver::new(format!("http://127.0.0.1:{port}"), capabilities)
            .await
            .expect("a browser");
        Self {
            driver,
            _chromedriver: chromedriver,
        }
    }

    /// Goes to an address.
    pub(crate) async fn go_to(&self, address: &str) {
        self.driver.goto(address).await.expect("a page");
    }

    /// Waits for the element of a CSS selector until it is visible.
    pub(crate) async fn element(&self, selector: &str) -> WebElement {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let query = self
                .driver
                .query(By::Css(selector))
                .wait(TIMEOUT, Duration::from_millis(50));
            match query.and_displayed().first().await {
                Ok(element) => return element,
                // Found on a page that was left before it could be looked at: the next one may have it, too.
                Err(error) if is_stale(&error) && Instant::now() < deadline => {}
                Err(error) => panic!("no {selector} on the page ({error}):\n{}", self.source().await),
            }
        }
    }

    /// Types into the field with this name.
    pub(crate) async fn fill(&self, name: &str, text: &str) {
        let field = self.element(&format!("[name={name}]")).await;
        field.clear().await.expect("an empty field");
        field.send_keys(text).await.expect("a filled field");
    }

    /// Presses the button or follows the link with these words.
    pub(crate) async fn press(&self, words: &str) {
        let path = format!("//*[self::button or self::a][contains(normalize-space(.), '{words}')]");
        let query = self
            .driver
            .query(By::XPath(&path))
            .wait(TIMEOUT, Duration::from_millis(50));
        match query.and_displayed().first().await {
            Ok(element) => element.click().await.expect("a click"),
            Err(error) => panic!("nothing says '{words}' ({error}):\n{}", self.source().await),
        }
    }

    /// The visible text of the page.
    pub(crate) async fn text(&self) -> String {
        self.element("body").await.text().await.expect("text")
    }

    /// The page's source as it is now.
    pub(crate) async fn source(&self) -> String {
        self.driver.source().await.expect("a page source")
    }

    /// Where the browser is.
    pub(crate) async fn address(&self) -> String {
        self.driver.current_url().await.expect("an address").to_string()
    }

    pub(crate) async fn close(self) {
        self.driver.quit().await.expect("the browser ends");
    }
}

fn is_stale(error: &WebDriverError) -> bool {
    matches!(error.as_inner(), WebDriverErrorInner::StaleElementReference(_))
}

/// How often another process may take the free port before chromedriver listens on it.
const LOST_PORTS: usize = 10;

/// Starts chromedriver on a free port.
///
/// `--port=0` is no way to get one: without IPv6, chromedriver announces port 0. A chosen port can be lost to
/// another process before chromedriver has it; then chromedriver says so and ends, and the next port is
/// tried.
async fn start_chromedriver() -> (Child, u16) {
    let program = std::env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
    let mut said = String::new();
    for _ in 0..LOST_PORTS {
        let port = free_port().await;
        let mut chromedriver = Command::new(&program)
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{program} does not start ({error}): `cargo xtask test` installs it")
            });
        match tokio::time::timeout(TIMEOUT, listens(&mut chromedriver)).await {
            Ok(Ok(())) => return (chromedriver, port),
            Ok(Err(output)) if output.contains("port not available") => said = output,
            Ok(Err(output)) => panic!("{program} ended before it listened:\n{output}"),
            Err(_) => panic!("{program} does not listen on port {port}"),
        }
    }
    panic!("{program} lost {LOST_PORTS} ports to others, the last one so:\n{said}");
}

/// A port of 127.0.0.1 on which nothing listens.
async fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// Waits until chromedriver announces that it listens; if it ends instead, returns its output.
async fn listens(chromedriver: &mut Child) -> Result<(), String> {
    let mut lines = BufReader::new(chromedriver.stdout.take().expect("standard output")).lines();
    let mut output = String::new();
    while let Some(line) = lines.next_line().await.expect("readable output") {
        if line.starts_with("ChromeDriver was started successfully on port ") {
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok(());
        }
        output.push_str(&line);
        output.push('\n');
    }
    Err(output)
}
