use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, State, to_u32};
use crate::api_key::{ApiKey, Revocation};
use crate::audit::{Act, AuditEvent};
use crate::id::{ApiKeyId, InvitationId, MembershipId};
use crate::invitation::InvitationEnd;
use crate::membership::Membership;
use crate::planned_ends::ports::PlannedEndStore;
use crate::ports::StorageError;
use crate::validity::End;

#[async_trait]
impl PlannedEndStore for MemoryStore {
    async fn has_due(&self, now: DateTime<Utc>) -> Result<bool, StorageError> {
        let state = self.state()?;
        let has_due = state.due_keys(now).next().is_some()
            || state.due_memberships(now).next().is_some()
            || state.keys_ended_by_successors(now).next().is_some();
        Ok(has_due)
    }

    async fn record_ends_of_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        let due: Vec<ApiKeyId> = state.due_keys(act.at).take(at_most as usize).collect();
        let recorded = due.len();
        state.write_with_due_ends(Vec::new(), due, &act)?;
        Ok(to_u32(recorded))
    }

    async fn end_rotated_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        let replaced: Vec<(MembershipId, ApiKeyId)> = state
            .keys_ended_by_successors(act.at)
            .take(at_most as usize)
            .collect();
        let events = replaced.iter().filter_map(|(consumer, id)| {
            let membership = state.membership(*consumer)?;
            Some(act.end_of_rotated_key(membership.organization_id, *id))
        });
        let events = events.collect();
        state.write(events)?;
        for (consumer, id) in &replaced {
            if let Some(key) = state.key_mut(*consumer, *id) {
                key.revocation = Some(Revocation::by_rotation(act.at, act.actor));
            }
        }
        Ok(to_u32(replaced.len()))
    }

    async fn record_ends_of_memberships(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        let due = state.due_memberships(act.at).take(at_most as usize);
        let ends: Vec<EndOfMembership> = due
            .map(|membership| state.due_end_of_membership(membership, &act))
            .collect();
        let recorded = ends.len();
        state.end_memberships(ends, Vec::new())?;
        Ok(to_u32(recorded))
    }
}

/// The end of a membership and of what ends with it.
pub(super) struct EndOfMembership {
    membership: MembershipId,
    end: End,
    invitations: Vec<InvitationId>,
    at: DateTime<Utc>,
    events: Vec<AuditEvent>,
}

impl State {
    /// Keys whose planned end has come and is not recorded, earliest end first.
    pub(super) fn due_keys(&self, now: DateTime<Utc>) -> impl Iterator<Item = ApiKeyId> {
        let keys = self.keys.iter().map(|stored| &stored.key);
        let ends = keys.filter_map(|key| Some((key.end()?, key.id)));
        let mut due: Vec<_> = ends.filter(|(end, _)| end.is_due(now)).collect();
        due.sort_by_key(|(end, id)| (end.at(), *id));
        due.into_iter().map(|(_, id)| id)
    }

    /// Valid keys that end on first use of a successor, whose successor is valid and has been used.
    fn keys_ended_by_successors(&self, now: DateTime<Utc>) -> impl Iterator<Item = (MembershipId, ApiKeyId)> {
        let keys = self.keys.iter().map(|stored| &stored.key);
        let replaced = keys.filter(move |key| {
            let successor = key.rotated_to.and_then(|id| self.key(key.consumer_id, id));
            let is_used = |successor: &ApiKey| successor.last_use.is_some() && successor.is_valid(now);
            successor.is_some_and(is_used) && key.is_valid(now) && key.ends_on_first_use()
        });
        replaced.map(|key| (key.consumer_id, key.id))
    }

    /// Memberships whose planned end has come at `now` and is not recorded, earliest end first.
    pub(super) fn due_memberships(&self, now: DateTime<Utc>) -> impl Iterator<Item = &Membership> {
        let due = |membership: &&Membership| membership.end.is_some_and(|end| end.is_due(now));
        let mut due: Vec<_> = self.memberships.iter().filter(due).collect();
        due.sort_by_key(|membership| (membership.end.map(End::at), membership.id));
        due.into_iter()
    }

    /// Writes the events of a change, and records ends that are due, with the event of each.
    pub(super) fn write_with_due_ends(
        &mut self,
        mut events: Vec<AuditEvent>,
        due: Vec<ApiKeyId>,
        act: &Act,
    ) -> Result<(), StorageError> {
        for id in &due {
            let keys = self.keys.iter().map(|stored| &stored.key);
            for key in keys.filter(|key| key.id == *id) {
                let membership = self.membership(key.consumer_id);
                events
                    .extend(membership.map(|membership| {
                        act.planned_end_of_key(membership.organization_id, *id, key.end())
                    }));
            }
        }
        self.write(events)?;
        for stored in self.keys.iter_mut().filter(|stored| due.contains(&stored.key.id)) {
            if let Some(revocation) = &mut stored.key.revocation {
                revocation.end = revocation.end.recorded(act.at);
            }
        }
        Ok(())
    }

    /// The end of a membership: `event`, then one event for each invitation revoked with it.
    pub(super) fn end_of_membership(
        &self,
        membership: &Membership,
        end: End,
        event: AuditEvent,
        act: &Act,
    ) -> EndOfMembership {
        let invitations = self.open_invitations_by(membership.organization_id, membership.user_id, act.at);
        let revoked = invitations.iter().map(|id| act.invitation_revoked(*id));
        EndOfMembership {
            membership: membership.id,
            end,
            at: act.at,
            events: [event].into_iter().chain(revoked).collect(),
            invitations,
        }
    }

    /// The same for a planned end that is due: its time is kept, and the system is the actor.
    pub(super) fn due_end_of_membership(&self, membership: &Membership, act: &Act) -> EndOfMembership {
        let event = act.planned_end_of_membership(membership.organization_id, membership.id, membership.end);
        let end = membership
            .end
            .map_or(End::Come(act.at), |end| end.recorded(act.at));
        self.end_of_membership(membership, end, event, &act.of_system(membership.organization_id))
    }

    /// Ends memberships and what ends with them. `others` are written after the events of the ends.
    pub(super) fn end_memberships(
        &mut self,
        ends: Vec<EndOfMembership>,
        others: Vec<AuditEvent>,
    ) -> Result<(), StorageError> {
        let events = ends.iter().flat_map(|ended| ended.events.clone());
        self.write(events.chain(others).collect())?;
        for ended in ends {
            for membership in &mut self.memberships {
                if membership.id == ended.membership {
                    membership.end = Some(ended.end);
                }
            }
            self.project_members
                .retain(|(_, member)| *member != ended.membership);
            for id in ended.invitations {
                self.end_invitation(id, InvitationEnd::Revoked { at: ended.at });
            }
        }
        Ok(())
    }
}
