//! Writing refused uses to the audit log.

use std::sync::Arc;

use super::{RefusedUse, RefusedUses};
use crate::audit::{Act, Action, Actor, AuditEvent, RequestSource, Subject};
use crate::ports::StorageError;
use crate::sign_in::ports::LimitedAuditLog;
use crate::sign_in::throttle::EventLimit;
use crate::sources::Sources;

/// Reports refused uses in the audit logs of the keys' organizations, beside the requests.
#[derive(Clone)]
pub struct RefusedUseReports {
    uses: Arc<RefusedUses>,
    audit_log: Arc<dyn LimitedAuditLog>,
    sources: Sources,
}

impl RefusedUseReports {
    /// The maximum number of uses that are written at one time, each in a transaction of its own.
    const AT_ONCE: usize = 200;

    /// Reports what is noted in `uses`.
    #[must_use]
    pub fn new(uses: Arc<RefusedUses>, audit_log: Arc<dyn LimitedAuditLog>, sources: Sources) -> Self {
        Self {
            uses,
            audit_log,
            sources,
        }
    }

    /// Writes the due uses, and returns the number of events.
    ///
    /// # Errors
    /// Only if the store fails. In an outage, the uses that were not written are due again; otherwise, only
    /// those that the store rejected were not written, and are dropped.
    pub async fn write(&self) -> Result<usize, StorageError> {
        let mut written = Ok(0);
        // Second, the organizations with more uses than are reported singly: the first pass finds these.
        for is_more in [false, true] {
            let mut uses = if is_more {
                self.uses.take_more()
            } else {
                self.uses.take(self.sources.now(), Self::AT_ONCE)
            };
            while let Some(used) = uses.next() {
                let report = if is_more {
                    self.report_more(used).await
                } else {
                    self.report(used).await
                };
                match report {
                    Ok(is_written) => written = written.map(|count| count + usize::from(is_written)),
                    Err(error) if error.is_outage() => return Err(error),
                    Err(error) => written = Err(error),
                }
                uses.mark_written();
            }
        }
        written
    }

    /// In one transaction with the counts that bound it, so that of several servers one writes it.
    async fn report(&self, used: RefusedUse) -> Result<bool, StorageError> {
        let limits = EventLimit::RefusedUses {
            of: used.key,
            consumer: used.consumer,
            within: used.organization,
        };
        let limits = limits.buckets();
        let (of_key, of_consumer) = (limits[0], limits[1]);
        let event = AuditEvent {
            object: Some(Subject::Membership(used.consumer)),
            ..self
                .act(used)
                .refusal(Action::UseApiKey, Subject::ApiKey(used.key))
        };
        let full = self.audit_log.record_within(limits, vec![event], used.at).await?;
        match full {
            None => self
                .uses
                .mark_reported(used.key, used.at + EventLimit::ONCE_AN_HOUR),
            Some(full) if full.bucket == of_key => {
                self.uses
                    .mark_reported(used.key, used.at + full.throttled.retry_after);
            }
            Some(full) if full.bucket == of_consumer => {
                self.uses
                    .mark_consumer_full(used, used.at + full.throttled.retry_after);
            }
            Some(full) => self
                .uses
                .mark_organization_full(used, used.at + full.throttled.retry_after),
        }
        Ok(full.is_none())
    }

    async fn report_more(&self, used: RefusedUse) -> Result<bool, StorageError> {
        let limits = EventLimit::MoreRefusedUses(used.organization).buckets();
        let subject = Subject::Organization(used.organization);
        let event = self.act(used).refusal(Action::UseApiKey, subject);
        let full = self.audit_log.record_within(limits, vec![event], used.at).await?;
        let rest = full.map_or(EventLimit::ONCE_AN_HOUR, |full| full.throttled.retry_after);
        self.uses.mark_more_reported(used.organization, used.at + rest);
        Ok(full.is_none())
    }

    fn act(&self, used: RefusedUse) -> Act {
        let source = RequestSource {
            address: used.from,
            request_id: None,
        };
        self.sources
            .act_at(used.at, Actor::Anonymous, source)
            .within(used.organization)
    }
}
