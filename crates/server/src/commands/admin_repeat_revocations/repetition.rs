//! The repetition of changes in one organization.

use std::collections::{HashMap, HashSet};
use std::error::Error;

use chrono::{DateTime, Utc};
use keyward_domain::access_removals::{AccessRemoval, ManualRemoval, RemovalsToRepeat};
use keyward_domain::administration::ports::{KeySelection, Named, RevokeKeysError};
use keyward_domain::administration::{Authority, StopReason, Stopped};
use keyward_domain::api_key::RevocationNote;
use keyward_domain::audit::{RequestSource, Subject};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::organization::Organization;
use keyward_domain::ports::{DescendantKeys, StorageError};

use super::summary::{RemovalKind, Summary};
use crate::composition::Composition;

/// The most identifiers in one query: SQLite accepts about 32,766.
pub(super) const QUERY_SIZE: usize = 1_000;
/// The note on a key, which its user sees.
const NOTE: &str = "Was revoked before the database was restored from a backup";

pub(super) struct Repetition<'a> {
    pub(super) composition: &'a Composition,
    pub(super) organization: &'a Organization,
    pub(super) authority: Authority,
    pub(super) now: DateTime<Utc>,
    removals: Vec<AccessRemoval>,
    pub(super) manual: Vec<ManualRemoval>,
    names: HashMap<Subject, Named>,
}

pub(super) enum RepeatOutcome {
    Repeated,
    AlreadySo,
    /// A rule of the domain refused the change.
    Refused(Box<dyn Error>),
}

impl<'a> Repetition<'a> {
    /// Finds those of the changes that are about something in this organization. Not every line of a log names
    /// its organization; but no identifier is in two of them.
    pub(super) async fn find(
        composition: &'a Composition,
        organization: &'a Organization,
        to_repeat: &RemovalsToRepeat,
        now: DateTime<Utc>,
    ) -> Result<Self, StorageError> {
        let mut removals = of_organization(organization, &to_repeat.removals);
        let mut manual = of_organization(organization, &to_repeat.manual);
        let of_removals = removals.iter().flat_map(AccessRemoval::subjects);
        let of_manual = manual.iter().filter_map(ManualRemoval::subject);
        let subjects: Vec<Subject> = of_removals.chain(of_manual).collect();
        let mut names = HashMap::new();
        for some in subjects.chunks(QUERY_SIZE) {
            names.extend(composition.names().identify(organization.id, some).await?);
        }
        removals.retain(|removal| removal.subjects().all(|it| names.contains_key(&it)));
        manual.retain(|removal| removal.subject().is_some_and(|it| names.contains_key(&it)));
        // First those that may use reserved disk space: on a full disk, the first of the others ends the
        // repetition.
        removals.sort_by_key(|removal| match removal {
            AccessRemoval::ApiKey(_) | AccessRemoval::Membership(_) | AccessRemoval::Invitation(_) => false,
            AccessRemoval::OwnerRole(_) | AccessRemoval::Project(_) | AccessRemoval::ProjectMember(..) => {
                true
            }
        });
        Ok(Self {
            composition,
            organization,
            authority: Authority::of_administrator(organization.id),
            now,
            removals,
            manual,
            names,
        })
    }

    pub(super) fn has_something(&self) -> bool {
        !self.names.is_empty()
    }

    /// Repeats the changes: first all revocations of keys, then the others one by one.
    ///
    /// # Errors
    /// The database does not answer, is full, or cannot be read. If one change fails otherwise, the others go
    /// on.
    pub(super) async fn repeat_all(&self, summary: &mut Summary) -> Result<(), StorageError> {
        for removal in &self.removals {
            summary.tally(RemovalKind::of(removal)).found += 1;
        }
        self.revoke_keys(summary).await?;
        let has_invitations = self
            .removals
            .iter()
            .any(|it| matches!(it, AccessRemoval::Invitation(_)));
        let pending = if has_invitations {
            self.pending_invitations().await?
        } else {
            HashSet::new()
        };
        for &removal in &self.removals {
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
            self.count(removal, outcome, summary)?;
        }
        Ok(())
    }

    async fn revoke_keys(&self, summary: &mut Summary) -> Result<(), StorageError> {
        let keys = self.removals.iter().filter_map(|removal| match removal {
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
        let named = removal.subjects().filter_map(|subject| self.names.get(&subject));
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

/// Those of the changes that may be about this organization.
fn of_organization<C: Copy>(organization: &Organization, changes: &[(Option<OrganizationId>, C)]) -> Vec<C> {
    let may_be = |of: &Option<OrganizationId>| of.is_none_or(|of| of == organization.id);
    let changes = changes.iter().filter(|(of, _)| may_be(of));
    changes.map(|(_, change)| *change).collect()
}
