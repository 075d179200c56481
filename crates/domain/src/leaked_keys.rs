//! Leaked keys: whoever finds a token may report it, and its key is revoked.
//!
//! A report is answered before anything is looked up, so that neither the answer nor its time tells whether a token exists. A
//! request only leaves it in memory; whoever serves calls [`RevokeLeakedKeys::revoke_reported`] every few seconds, which waits
//! for all servers as every revocation does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api_key::{KeyPrecondition, RevocationCause, RevocationNote, RevocationReason};
use crate::audit::{Actor, RequestSource};
use crate::ports::{ApiKeys, Credentials, DescendantKeys, RevokeKeyError, StorageError};
use crate::propagation::{Propagation, ToAllServers};
use crate::sources::Sources;
use crate::token::{Token, TokenDigest};

/// A token that somebody found.
#[derive(Debug, Clone)]
pub struct LeakedToken {
    digest: TokenDigest,
    /// Where it was found, for the key's holder and owners.
    note: Option<RevocationNote>,
    /// The request that reported it.
    source: RequestSource,
}

impl LeakedToken {
    /// What somebody reports; nothing unless it has the form and the checksum of a token.
    ///
    /// `place` says where it was found, such as a URL, and `kind` what kind of place that is. Of what is too long to be shown,
    /// the beginning is kept; what has characters that cannot be shown, or the token itself, is not.
    #[must_use]
    pub fn parse(token: &str, place: &str, kind: &str, source: RequestSource) -> Option<Self> {
        Some(Self {
            digest: Token::parse(token).ok()?.digest(),
            note: note(place.trim(), kind.trim()),
            source,
        })
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
    let whole = RevocationNote::parse(&text);
    whole.or_else(|_| RevocationNote::parse(&shortened(&text))).ok()
}

fn shortened(text: &str) -> String {
    let beginning = text.chars().take(RevocationNote::MAX - 1);
    beginning.chain(['…']).collect()
}

/// The tokens that were reported and are not dealt with, each once however often it is reported, in a bounded amount of
/// memory.
#[derive(Debug)]
pub struct ReportedLeaks {
    capacity: usize,
    /// By their digests.
    tokens: Mutex<HashMap<[u8; 32], LeakedToken>>,
}

/// There is no room for a report: nothing of it was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many reported tokens wait to be looked up")]
pub struct TooManyReports;

impl ReportedLeaks {
    /// Keeps at most so many tokens: at most a kilobyte for each.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            tokens: Mutex::default(),
        }
    }

    /// Takes the tokens of one report.
    ///
    /// # Errors
    /// There is no room for all of them.
    pub fn report(&self, tokens: Vec<LeakedToken>) -> Result<(), TooManyReports> {
        let mut waiting = self.tokens();
        let new: HashMap<_, _> = tokens
            .into_iter()
            .map(|leaked| (*leaked.digest.as_bytes(), leaked))
            .filter(|(digest, _)| !waiting.contains_key(digest))
            .collect();
        if waiting.len() + new.len() > self.capacity {
            return Err(TooManyReports);
        }
        waiting.extend(new);
        Ok(())
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.tokens().len()
    }

    fn digests(&self) -> Vec<[u8; 32]> {
        self.tokens().keys().copied().collect()
    }

    fn get(&self, digest: &[u8; 32]) -> Option<LeakedToken> {
        self.tokens().get(digest).cloned()
    }

    fn remove(&self, digest: &[u8; 32]) {
        self.tokens().remove(digest);
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<[u8; 32], LeakedToken>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The use case that revokes the keys of reported tokens.
#[derive(Clone)]
pub struct RevokeLeakedKeys {
    reported: Arc<ReportedLeaks>,
    credentials: Arc<dyn Credentials>,
    keys: Arc<dyn ApiKeys>,
    sources: Sources,
    to_all_servers: ToAllServers,
}

impl RevokeLeakedKeys {
    /// Creates the use case over a store.
    #[must_use]
    pub fn new(
        reported: Arc<ReportedLeaks>,
        credentials: Arc<dyn Credentials>,
        keys: Arc<dyn ApiKeys>,
        sources: Sources,
    ) -> Self {
        Self {
            reported,
            credentials,
            keys,
            sources,
            to_all_servers: ToAllServers::default(),
        }
    }

    /// Waits for other servers before it returns: see [`Propagation`].
    #[must_use]
    pub fn with_propagation(self, propagation: Arc<dyn Propagation>) -> Self {
        Self {
            to_all_servers: ToAllServers::by(propagation),
            ..self
        }
    }

    /// How many reported tokens wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.reported.waiting()
    }

    /// Revokes the keys of all tokens that wait, and returns how many that were: then no server accepts them. One caller at a
    /// time.
    ///
    /// # Errors
    /// The store failed for a token, or is unavailable. Every token that was not dealt with waits for the next call; unless the
    /// store is unavailable, the others are dealt with.
    pub async fn revoke_reported(&self) -> Result<usize, StorageError> {
        let mut revoked = 0;
        let mut failed = Ok(());
        for digest in self.reported.digests() {
            let Some(leaked) = self.reported.get(&digest) else {
                continue;
            };
            match self.revoke(leaked).await {
                Ok(was_valid) => {
                    self.reported.remove(&digest);
                    revoked += usize::from(was_valid);
                }
                Err(error) => {
                    let is_outage = error.is_outage();
                    failed = failed.and(Err(error));
                    if is_outage {
                        break;
                    }
                }
            }
        }
        if revoked > 0 {
            self.to_all_servers.wait().await;
        }
        failed.map(|()| revoked)
    }

    /// Revokes the key with this token alone: whoever found it says nothing of the keys created with it.
    async fn revoke(&self, leaked: LeakedToken) -> Result<bool, StorageError> {
        let Some(credential) = self.credentials.find(&leaked.digest).await? else {
            return Ok(false);
        };
        // It is over for good. Whoever has a dead token must not make its consumer's row be locked by reporting it.
        if credential.has_ended() {
            return Ok(false);
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
            Ok(revoked) => Ok(!revoked.is_empty()),
            Err(RevokeKeyError::Storage(error)) => Err(error),
            // It was removed meanwhile. No key acts, and every version will do.
            Err(
                RevokeKeyError::NotFound | RevokeKeyError::HolderGone | RevokeKeyError::PreconditionFailed,
            ) => Ok(false),
        }
    }
}
