//! The repetition of changes in one organization.

use std::collections::{HashMap, HashSet};
use std::error::Error;

use chrono::{DateTime, Utc};
use keyward_domain::access_removals::AccessRemoval;
use keyward_domain::administration::ports::{KeySelection, Named, RevokeKeysError};
use keyward_domain::administration::{Authority, StopReason, Stopped};
use keyward_domain::api_key::RevocationNote;
use keyward_domain::audit::{RequestSource, Subject};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::Organization;
use keyward_domain::ports::{DescendantKeys, StorageError};

use super::summary::{RemovalKind, Summary};
use crate::composition::Composition;

/// The most identifiers in one query: SQLite accepts about 32,766.
pub(super) const QUERY_SIZE: usize = 1_000;
/// What the user of a key sees next to it.
const NOTE: &str = "Was revoked before the database was restored from a backup";

#[derive(Clone, Copy)]
pub(super) struct Repetition<'a> {
    pub(super) composition: &'a Composition,
    pub(super) organization: &'a Organization,
    pub(super) authority: Authority,
    pub(super) now: DateTime<Utc>,
}

pub(super) enum RepeatOutcome {
    Repeated,
    AlreadySo,
    /// By a rule.
    Refused(Box<dyn Error>),
}

impl<'a> Repetition<'a> {
    pub(super) const fn new(
        composition: &'a Composition,
        organization: &'a Organization,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            composition,
            organization,
            authority: Authority::of_administrator(organization.id),
            now,
        }
    }

    /// Repeats those of the changes that are about this organization: first all revocations of keys, then the
    /// others one by one.
    ///
    /// # Errors
    /// The database does not answer, or cannot be read. If one change fails otherwise, the others go on.
    pub(super) async fn repeat_all(
        &self,
        removals: &[AccessRemoval],
        summary: &mut Summary,
    ) -> Result<(), StorageError> {
        let subjects: Vec<Subject> = removals.iter().flat_map(AccessRemoval::subjects).collect();
        let names = self.names(&subjects).await?;
        let is_here = |removal: &&AccessRemoval| removal.subjects().all(|it| names.contains_key(&it));
        let here: Vec<AccessRemoval> = removals.iter().filter(is_here).copied().collect();
        for removal in &here {
            summary.tally(RemovalKind::of(removal)).found += 1;
        }
        self.revoke_keys(&here, summary).await?;
        let has_invitations = here.iter().any(|it| matches!(it, AccessRemoval::Invitation(_)));
        let pending = if has_invitations {
            self.pending_invitations().await?
        } else {
            HashSet::new()
        };
        for removal in here {
            let outcome = match removal {
                // By now.
                AccessRemoval::ApiKey(_) => continue,
                AccessRemoval::Membership(member) => self.end_membership(member).await,
                AccessRemoval::OwnerRole(member) => self.make_member(member).await,
                AccessRemoval::Invitation(invitation) if pending.contains(&invitation) => {
                    self.revoke_invitation(invitation).await
                }
                AccessRemoval::Invitation(_) => Ok(RepeatOutcome::AlreadySo),
                AccessRemoval::Project(project) => self.archive(project).await,
                AccessRemoval::ProjectMember(project, member) => {
                    self.remove_from_project(project, member).await
                }
            };
            self.count(removal, outcome, &names, summary)?;
        }
        Ok(())
    }

    /// Those of the subjects that this organization has.
    pub(super) async fn names(&self, subjects: &[Subject]) -> Result<HashMap<Subject, Named>, StorageError> {
        let mut names = HashMap::new();
        for some in subjects.chunks(QUERY_SIZE) {
            let found = self.composition.names();
            names.extend(found.identify(self.organization.id, some).await?);
        }
        Ok(names)
    }

    async fn revoke_keys(
        &self,
        removals: &[AccessRemoval],
        summary: &mut Summary,
    ) -> Result<(), StorageError> {
        let keys = removals.iter().filter_map(|removal| match removal {
            AccessRemoval::ApiKey(key) => Some(*key),
            _ => None,
        });
        let keys: Vec<ApiKeyId> = keys.collect();
        for ids in keys.chunks(QUERY_SIZE) {
            let selection = KeySelection::Keys {
                ids: ids.to_vec(),
                descendants: DescendantKeys::Keep,
            };
            let (note, source) = (RevocationNote::parse(NOTE).ok(), RequestSource::default());
            let revoking = self.composition.organization_keys();
            let revoked = revoking
                .revoke(&self.authority, selection, note, source, None)
                .await;
            let tally = summary.tally(RemovalKind::ApiKey);
            match revoked {
                Ok(revoked) => {
                    tally.repeated += revoked.count;
                    tally.already_so += u32::try_from(ids.len()).unwrap_or(u32::MAX) - revoked.count;
                }
                Err(Stopped { progress, why }) => {
                    tally.repeated += progress.count;
                    match why {
                        StopReason::Refused(RevokeKeysError::Storage(error)) if error.is_outage() => {
                            return Err(error);
                        }
                        why => summary.refused("API keys", &self.organization.slug, &sentence(&why)),
                    }
                }
            }
        }
        Ok(())
    }

    fn count(
        &self,
        removal: AccessRemoval,
        outcome: Result<RepeatOutcome, StorageError>,
        names: &HashMap<Subject, Named>,
        summary: &mut Summary,
    ) -> Result<(), StorageError> {
        let reason = match outcome {
            Ok(RepeatOutcome::Repeated) => {
                summary.tally(RemovalKind::of(&removal)).repeated += 1;
                return Ok(());
            }
            Ok(RepeatOutcome::AlreadySo) => {
                summary.tally(RemovalKind::of(&removal)).already_so += 1;
                return Ok(());
            }
            Ok(RepeatOutcome::Refused(error)) => sentence(&*error),
            Err(error) if error.is_outage() => return Err(error),
            Err(error) => sentence(&error),
        };
        let named = removal.subjects().filter_map(|subject| names.get(&subject));
        let named = named.map(|named| match &named.username {
            Some(username) => username.to_string(),
            None => named.name.clone(),
        });
        let named = named.collect::<Vec<_>>().join(", ");
        let what = format!("{} ({named})", RemovalKind::of(&removal).label());
        summary.refused(&what, &self.organization.slug, &reason);
        Ok(())
    }
}
