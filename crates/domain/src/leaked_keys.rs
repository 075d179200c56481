//! Leaked keys: anyone who finds a token may report it, and its key is revoked.
//!
//! The answer reveals nothing about the keys. Like that of every revocation, it promises that no server accepts them,
//! also after a crash.

use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::stream::{self, StreamExt};

use crate::api_key::{KeyPrecondition, RevocationCause, RevocationNote, RevocationReason};
use crate::audit::{Actor, RequestSource};
use crate::ports::{ApiKeys, Credentials, DescendantKeys, RevokeKeyError, StorageError};
use crate::propagation::{ToAllServers, with_propagation};
use crate::sources::Sources;
use crate::token::{Token, TokenDigest};

/// For how long lists report a leak.
pub const NOTICE_PERIOD: TimeDelta = TimeDelta::days(7);

/// A token that was found.
#[derive(Debug, Clone)]
pub struct LeakedToken {
    digest: TokenDigest,
    /// Where it was found, for the key's holder and owners.
    note: Option<RevocationNote>,
    /// The request that reported it.
    source: RequestSource,
}

impl LeakedToken {
    /// Reads a reported text; `None` unless it has the form and the checksum of a token. White space around it, such as
    /// a line feed, is ignored.
    ///
    /// `place` says where it was found, such as a URL, and `kind` what kind of place that is. Long texts are truncated;
    /// texts with the token or with characters that cannot be shown are left out.
    #[must_use]
    pub fn parse(token: &str, place: &str, kind: &str, source: RequestSource) -> Option<Self> {
        Some(Self {
            digest: Token::parse(token.trim()).ok()?.digest(),
            note: note(place.trim(), kind.trim()),
            source,
        })
    }

    /// The same, with a note that says that GitHub reported it: no report of others makes a note begin like that.
    #[must_use]
    pub fn by_github(self) -> Self {
        let found = self.note.as_ref().map_or("", RevocationNote::as_str);
        let text = format!("Reported by GitHub. {found}");
        Self {
            note: readable(text.trim_end()),
            ..self
        }
    }
}

fn note(place: &str, kind: &str) -> Option<RevocationNote> {
    if Token::is_in(place) || Token::is_in(kind) {
        return None;
    }
    let text = match (place, kind) {
        ("", "") => return None,
        (place, "") => format!("Found at {place}"),
        ("", kind) => format!("Found in: {kind}"),
        (place, kind) => format!("Found in {kind}, at {place}"),
    };
    readable(&text)
}

fn readable(text: &str) -> Option<RevocationNote> {
    let whole = RevocationNote::parse(text);
    whole.or_else(|_| RevocationNote::parse(&shortened(text))).ok()
}

fn shortened(text: &str) -> String {
    let beginning = text.chars().take(RevocationNote::MAX - 1);
    beginning.chain(['…']).collect()
}

/// How many tokens of a report are handled at once: more than one, so that a long report does not take too long, but
/// few enough to leave database connections to others.
const AT_ONCE: usize = 8;

/// The outcome for a reported token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// No key has it.
    Unknown,
    /// Its key had ended before.
    Ended,
    /// Its key is revoked because of the report.
    Revoked,
}

/// The use case that revokes the keys of reported tokens.
#[derive(Clone)]
pub struct RevokeLeakedKeys {
    credentials: Arc<dyn Credentials>,
    keys: Arc<dyn ApiKeys>,
    sources: Sources,
    to_all_servers: ToAllServers,
}

impl RevokeLeakedKeys {
    /// Creates the use case over a store.
    #[must_use]
    pub fn new(credentials: Arc<dyn Credentials>, keys: Arc<dyn ApiKeys>, sources: Sources) -> Self {
        Self {
            credentials,
            keys,
            sources,
            to_all_servers: ToAllServers::default(),
        }
    }

    with_propagation!();

    /// Revokes the keys with these tokens, several at a time, and returns the outcomes in the same order. When this
    /// returns, no server accepts these keys.
    ///
    /// A token for which the store failed may be one of a key that is valid still, so the report must be repeated. If the store
    /// is unavailable, that is the last result: of the tokens after it, at most seven are under way and may still be revoked.
    #[must_use]
    pub async fn revoke(&self, found: Vec<LeakedToken>) -> Vec<Result<Reported, StorageError>> {
        let revocations: Vec<_> = found.into_iter().map(|leaked| self.revoke_one(leaked)).collect();
        let mut results = stream::iter(revocations).buffered(AT_ONCE);
        let mut reported = Vec::new();
        while let Some(one) = results.next().await {
            let is_outage = one.as_ref().is_err_and(StorageError::is_outage);
            reported.push(one);
            if is_outage {
                break;
            }
        }
        // Also for keys that had ended: the request that ended one, such as the same report before, may still be
        // waiting.
        let is_of_key = |one: &Result<Reported, _>| matches!(one, Ok(Reported::Revoked | Reported::Ended));
        if reported.iter().any(is_of_key) {
            self.to_all_servers.wait().await;
        }
        reported
    }

    /// Revokes only the key with this token: its descendants may not have leaked.
    async fn revoke_one(&self, leaked: LeakedToken) -> Result<Reported, StorageError> {
        let Some(credential) = self.credentials.find(&leaked.digest).await? else {
            return Ok(Reported::Unknown);
        };
        // An end is final, so the report of a dead token need not lock its consumer's row.
        if credential.has_ended() {
            return Ok(Reported::Ended);
        }
        let act = self
            .sources
            .act(Actor::Anonymous, leaked.source)
            .within(credential.organization.id);
        let cause = RevocationCause {
            reason: RevocationReason::Leak,
            note: leaked.note,
        };
        let revoked = self
            .keys
            .revoke(
                credential.consumer.id,
                credential.api_key.id,
                cause,
                DescendantKeys::Keep,
                KeyPrecondition::AnyVersion,
                act,
            )
            .await;
        match revoked {
            Ok(revoked) if revoked.is_empty() => Ok(Reported::Ended),
            Ok(_) => Ok(Reported::Revoked),
            Err(RevokeKeyError::Storage(error)) => Err(error),
            // It was removed meanwhile. No key acts, and every version will do.
            Err(
                RevokeKeyError::NotFound | RevokeKeyError::HolderGone | RevokeKeyError::PreconditionFailed,
            ) => Ok(Reported::Ended),
        }
    }
}
