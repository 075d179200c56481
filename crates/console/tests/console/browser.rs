//! The parts of a browser that the tests need: cookies, forms, and redirects that are followed only on request.

use std::collections::BTreeMap;
use std::sync::Mutex;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A browser whose cookies go everywhere.
pub(crate) struct Browser {
    client: Client,
    port: u16,
    /// Values by name.
    cookies: Mutex<BTreeMap<String, String>>,
    /// The user on whose pages its forms are.
    user: Mutex<Option<String>>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Browser {
    pub(crate) fn new(port: u16) -> Self {
        Self {
            client: Client::builder().redirect(Policy::none()).build().unwrap(),
            port,
            cookies: Mutex::default(),
            user: Mutex::default(),
        }
    }

    /// Sends all further forms from pages of this user.
    pub(crate) fn fill_in_forms_of(&self, user: &str) {
        *self.user.lock().unwrap() = Some(user.to_owned());
    }

    /// A form with its hidden field.
    fn on_a_page(&self, path: &str, body: &str) -> String {
        match &*self.user.lock().unwrap() {
            Some(user) if !["/sign-in", "/setup", "/join"].contains(&path) => format!("user={user}&{body}"),
            _ => body.to_owned(),
        }
    }

    pub(crate) fn cookie(&self) -> Option<String> {
        let cookies = self.cookies.lock().unwrap();
        let pairs: Vec<String> = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Forgets all cookies, but for these.
    pub(crate) fn set_cookie(&self, header: Option<String>) {
        let pairs = header.iter().flat_map(|header| header.split("; "));
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        *self.cookies.lock().unwrap() = pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
    }

    /// Another browser with the same cookies.
    pub(crate) fn second_tab(&self) -> Self {
        let tab = Self::new(self.port);
        tab.set_cookie(self.cookie());
        tab.user.lock().unwrap().clone_from(&self.user.lock().unwrap());
        tab
    }

    /// A request with the cookies, and nothing that says where it comes from.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .client
            .request(method, format!("http://127.0.0.1:{}{path}", self.port));
        match self.cookie() {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        }
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let headers = response.headers().clone();
        for cookie in headers.get_all(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            let mut cookies = self.cookies.lock().unwrap();
            cookies.remove(name);
            if !cookie.contains("Max-Age=0") {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let answer = Answer {
            status: response.status().as_u16(),
            headers,
            body: response.text().await.unwrap(),
        };
        if let Some(user) = answer.user() {
            self.fill_in_forms_of(user);
        }
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    /// Opens a one-time link, whose secret leaves the address with the first request.
    pub(crate) async fn open(&self, link: &str) -> Answer {
        let answer = self.get(link).await;
        match answer.status {
            303 => self.follow(&answer).await,
            _ => answer,
        }
    }

    /// Sends a form as a page of the console does.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_body(path, form(fields)).await
    }

    pub(crate) async fn post_body(&self, path: &str, body: String) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header("sec-fetch-site", "same-origin")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(self.on_a_page(path, &body));
        self.send(request).await
    }

    /// Sends the head of a form, waits for something else to happen, and then sends the body. Returns the raw answer.
    pub(crate) async fn post_slowly(
        &self,
        origin: &str,
        path: &str,
        body: &str,
        meanwhile: impl Future,
    ) -> String {
        let body = self.on_a_page(path, body);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\norigin: {origin}\r\ncookie: {}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\
             expect: 100-continue\r\nconnection: close\r\n\r\n",
            self.port,
            self.cookie().unwrap(),
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut permission = [0; 25];
        stream.read_exact(&mut permission).await.unwrap();
        assert_eq!(permission, *b"HTTP/1.1 100 Continue\r\n\r\n");
        meanwhile.await;
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Goes where the answer leads.
    pub(crate) async fn follow(&self, answer: &Answer) -> Answer {
        assert_eq!(answer.status, 303, "{}", answer.body);
        self.get(answer.location()).await
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap())
            .unwrap_or_default()
    }

    pub(crate) fn location(&self) -> &str {
        self.header(LOCATION.as_str())
    }

    pub(crate) fn shows(&self, text: &str) -> bool {
        self.body.contains(text)
    }

    /// The elements that get the focus when the page opens: each element's name, with its role or else its identifier.
    pub(crate) fn focused(&self) -> Vec<String> {
        let tags = self.body.split('<').filter_map(|tag| tag.split_once('>'));
        let focused = tags.filter(|(tag, _)| tag.contains(" autofocus"));
        let named = focused.map(|(tag, _)| {
            let mut attributes = tag.split(' ');
            let name = attributes.next().unwrap();
            let role = tag.split(' ').find(|part| part.starts_with("role="));
            let by = role.or_else(|| attributes.find(|part| part.starts_with("id=")));
            format!("{name} {}", by.unwrap_or_default())
        });
        named.collect()
    }

    /// The page's text, without its tags and with single spaces.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut in_tag = false;
        for c in self.body.chars() {
            match c {
                '<' => in_tag = true,
                '>' => in_tag = false,
                c if !in_tag => text.push(c),
                _ => {}
            }
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The texts of the rows of the page's table, with single spaces also where only a tag separates words.
    pub(crate) fn rows(&self) -> Vec<String> {
        let (_, body) = self.body.split_once("<tbody").unwrap();
        let rows = body.split("<tr ").skip(1).map(|row| {
            let (row, _) = row.split_once("</tr>").unwrap();
            let texts = row.split('<').map(|tag| tag.split_once('>').unwrap().1);
            let words = texts.flat_map(str::split_whitespace);
            words.collect::<Vec<_>>().join(" ")
        });
        rows.collect()
    }

    /// The address of the next page of a list, if there is one.
    pub(crate) fn next_page(&self) -> Option<String> {
        let (before, _) = self.body.split_once("\" rel=\"next\"")?;
        let (_, address) = before.rsplit_once("href=\"")?;
        Some(address.replace("&#38;", "&"))
    }

    /// The value of a field of the page's form.
    pub(crate) fn field(&self, name: &str) -> &str {
        let begin = format!("name=\"{name}\" value=\"");
        let (_, rest) = self.body.split_once(&begin).expect(name);
        rest.split_once('"').unwrap().0
    }

    /// The names of the fields in which people type a text, with what they hold.
    pub(crate) fn text_fields(&self) -> Vec<(&str, &str)> {
        let tags = self.body.split('<').filter_map(|tag| {
            let (_, named) = tag.split_once(" name=\"")?;
            let (name, rest) = named.split_once('"')?;
            let value = if tag.starts_with("textarea ") {
                rest.split_once(">\n")?.1
            } else {
                let (_, value) = rest.split_once(" type=\"text\" value=\"")?;
                value.split_once('"')?.0
            };
            Some((name, value))
        });
        tags.collect()
    }

    /// The identifier of the user in the forms of the page.
    pub(crate) fn user(&self) -> Option<&str> {
        self.shows("name=\"user\" value=\"").then(|| self.field("user"))
    }

    /// Every token in the page.
    pub(crate) fn tokens(&self) -> Vec<&str> {
        const LENGTH: usize = 42;
        self.body
            .match_indices("kwp_")
            .filter_map(|(at, _)| self.body.get(at..at + LENGTH))
            .filter(|text| text.bytes().skip(4).all(|b| b.is_ascii_alphanumeric()))
            .collect()
    }
}

/// Fields as a browser writes them.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    fields.join("&")
}
