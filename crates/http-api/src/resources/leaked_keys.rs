//! `/api/v1/leaked-keys`

use std::time::Duration;

use keyward_domain::audit::RequestSource;
use keyward_domain::leaked_keys::{LeakedToken, Reported};
use keyward_domain::ports::StorageError;
use keyward_domain::text::TextError;
use poem::Request;
use poem_openapi::types::Example;
use poem_openapi::{ApiResponse, Object, OpenApi};
use tokio::time::{Instant, sleep_until};
use tracing::info;
use zeroize::Zeroizing;

use super::examples;
use super::tag::Tag;
use crate::paths::LEAKED_KEYS;
use crate::problem::Problem;
use crate::rate_limits::count_leak_report;
use crate::request::{Fields, JsonBody, QueryNames, ReadFields};
use crate::request_id::Source;
use crate::services::Services;

/// The most tokens of one report.
const MAX_TOKENS: usize = 100;

pub(crate) struct LeakedKeysResource;

/// The minimum time until a report is answered. By then, keys are revoked on all servers unless one of them
/// does not respond, so the response time reveals hardly more than the response.
const ANSWER_TIME: Duration = Duration::from_millis(250);

#[derive(ApiResponse)]
pub(crate) enum ReportedLeakedKeys {
    /// The report is accepted. The response is the same whether or not any of the tokens exists.
    #[oai(status = 202)]
    Accepted,
}

#[OpenApi(prefix_path = LEAKED_KEYS, tag = "Tag::LeakedKeys")]
impl LeakedKeysResource {
    /// Report leaked API keys
    ///
    /// For anyone who finds an API key where it does not belong, such as in a repository or a log. No credentials are needed.
    /// Valid keys are revoked before the response, with the reason `leak`; keys created with them are not. Their users and the
    /// owners of their organization see that, and where the key was found.
    ///
    /// The response tells nothing about the tokens. After any other response, repeat the report.
    #[oai(path = "/", method = "post", operation_id = "reportLeakedKeys")]
    async fn post(
        &self,
        request: &Request,
        services: &Services,
        query: QueryNames,
        source: Source,
        report: JsonBody<LeakReport>,
    ) -> Result<ReportedLeakedKeys, Problem> {
        query.only(&[])?;
        let begun = Instant::now();
        let tokens = report.0.iter().filter_map(|found| found.leaked(&source.0));
        let tokens: Vec<LeakedToken> = tokens.collect();
        if !tokens.is_empty() {
            count_leak_report(request, &services.api.rate_limits)?;
        }
        let count = tokens.len();
        let reported = services.api.leaks.revoke(tokens).await;
        sleep_until(begun + ANSWER_TIME).await;
        all_dealt_with(reported, count)?;
        Ok(ReportedLeakedKeys::Accepted)
    }
}

/// The outcome for each token of a report of `tokens` tokens. Logs how many keys were revoked, even if others
/// were not.
///
/// # Errors
/// The store failed. If there were several tokens, an outage leaves the outcome unknown: keys of others may
/// be revoked.
pub(super) fn all_dealt_with(
    reported: Vec<Result<Reported, StorageError>>,
    tokens: usize,
) -> Result<Vec<Reported>, StorageError> {
    let is_revoked = |one: &&Result<Reported, _>| matches!(one, Ok(Reported::Revoked));
    let revoked = reported.iter().filter(is_revoked).count();
    if revoked > 0 {
        info!(revoked, "leaked keys revoked");
    }
    let reported: Result<Vec<Reported>, StorageError> = reported.into_iter().collect();
    reported.map_err(|error| match error {
        StorageError::Unavailable(source) if tokens > 1 => StorageError::OutcomeUnknown(source),
        error => error,
    })
}

/// Leaked API keys.
#[derive(Object)]
#[oai(rename = "LeakReport", example)]
pub(crate) struct LeakReport {
    /// The tokens, 1 to 100.
    #[oai(validator(min_items = 1, max_items = 100))]
    tokens: Vec<LeakedKeyToken>,
}

/// A token that was found.
#[derive(Object)]
#[oai(rename = "LeakedKeyToken", skip_serializing_if_is_none)]
pub(crate) struct LeakedKeyToken {
    /// The token. Anything else is ignored.
    token: String,
    /// Where it was found. The key's user and the owners of the organization see its beginning.
    url: Option<String>,
    /// The kind of that place, in one or two words.
    #[oai(rename = "type")]
    kind: Option<String>,
}

/// One token of a report.
pub(crate) struct FoundToken {
    token: Zeroizing<String>,
    place: String,
    kind: String,
}

impl FoundToken {
    fn leaked(&self, source: &RequestSource) -> Option<LeakedToken> {
        LeakedToken::parse(&self.token, &self.place, &self.kind, source.clone())
    }

    fn read(fields: &mut Fields) -> Option<Self> {
        let token = fields.required("token", as_it_is);
        let place = fields.or_empty("url", as_it_is);
        let kind = fields.or_empty("type", as_it_is);
        Some(Self {
            token: Zeroizing::new(token?),
            place: place?,
            kind: kind?,
        })
    }
}

fn as_it_is(text: &str) -> Result<String, TextError> {
    Ok(text.to_owned())
}

impl ReadFields for LeakReport {
    type Read = Vec<FoundToken>;

    fn read(fields: &mut Fields) -> Option<Self::Read> {
        fields.objects("tokens", MAX_TOKENS, FoundToken::read)
    }
}

impl Example for LeakReport {
    fn example() -> Self {
        Self {
            tokens: vec![LeakedKeyToken {
                token: examples::TOKEN.to_owned(),
                url: Some("https://git.example.com/engines/nightly/blob/main/backup.sh#L3".to_owned()),
                kind: Some("commit".to_owned()),
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn revoked_keys_of_a_failed_report_are_logged() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .finish();
        let failure = || Err(StorageError::Defect("no such column".into()));
        tracing::subscriber::with_default(subscriber, || {
            let reported = vec![Ok(Reported::Revoked), failure(), Ok(Reported::Revoked)];
            assert!(all_dealt_with(reported, 3).is_err());
            assert!(all_dealt_with(vec![Ok(Reported::Ended), failure()], 2).is_err());
        });
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(log.matches("leaked keys revoked").count(), 1, "{log}");
    }
}
