//! An answer as `curl --include` prints it.

/// An answer to a client of a gateway.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        Self {
            status: status.parse().expect("a status"),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// All values of a header.
    pub(super) fn values(&self, name: &str) -> Vec<&str> {
        values(&self.head, name)
    }
}

/// All values of a header in a head, in any case.
pub(super) fn values<'a>(head: &'a str, name: &str) -> Vec<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(field, _)| field.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
        .collect()
}
