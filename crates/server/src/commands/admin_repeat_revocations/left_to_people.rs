//! Changes that only people can repeat, and how.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, SecondsFormat, Utc};
use keyward_domain::access_removals::ManualRemoval;
use keyward_domain::administration::ports::HeldKey;
use keyward_domain::id::{ApiKeyId, OrganizationId, UserId};
use keyward_domain::ports::StorageError;

use super::repetition::{QUERY_SIZE, Repetition};
use crate::composition::Composition;
use crate::program;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ManualKind {
    Password,
    Sessions,
    KeyEnd,
    Rotation,
    MembershipEnd,
    Settings,
}

/// The users and objects that each kind of change concerns.
#[derive(Default)]
pub(super) struct LeftToPeople(BTreeMap<ManualKind, BTreeSet<String>>);

impl LeftToPeople {
    /// Adds the changes of users who exist. Whether they were repeated is not known: no time is stored with a
    /// password.
    pub(super) async fn of_users(
        &mut self,
        composition: &Composition,
        changes: &[(Option<OrganizationId>, ManualRemoval)],
    ) -> Result<(), StorageError> {
        let kinds: HashMap<UserId, ManualKind> = changes
            .iter()
            .filter_map(|(_, change)| match change {
                ManualRemoval::Password(user) => Some((*user, ManualKind::Password)),
                ManualRemoval::Sessions(user) => Some((*user, ManualKind::Sessions)),
                _ => None,
            })
            .collect();
        let ids: Vec<UserId> = kinds.keys().copied().collect();
        for some in ids.chunks(QUERY_SIZE) {
            for user in composition.names().users(some).await? {
                if let Some(kind) = kinds.get(&user.id) {
                    self.add(*kind, user.username.to_string());
                }
            }
        }
        Ok(())
    }

    /// Adds those of the organization's changes that were not repeated. The clock of this machine, which may
    /// be wrong, does not say that an end has come by which people were to plan it.
    pub(super) async fn of_organization(&mut self, repetition: &Repetition<'_>) -> Result<(), StorageError> {
        let Repetition {
            composition,
            organization,
            authority,
            now,
            manual,
            ..
        } = repetition;
        let keys = manual.iter().filter_map(|change| match *change {
            ManualRemoval::KeyEnd(key, _) | ManualRemoval::Rotation { key, .. } => Some(key),
            _ => None,
        });
        let ids: Vec<ApiKeyId> = keys.collect();
        let mut keys = HashMap::new();
        for some in ids.chunks(QUERY_SIZE) {
            let found = composition.organization_keys().find_many(authority, some).await?;
            keys.extend(found.into_iter().map(|key| (key.id, key)));
        }
        let valid_at = |id: &ApiKeyId, at| {
            let is_valid = |key: &&HeldKey| key.is_valid(at) && key.holder.membership.is_live(at);
            keys.get(id).filter(is_valid)
        };
        let slug = &organization.slug;
        let of_key = |key: &HeldKey| format!("{} of {} in {slug}", key.id, key.holder.user.username);
        for change in manual {
            match change {
                ManualRemoval::KeyEnd(key, at) => {
                    if let Some(key) = valid_at(key, *at) {
                        self.add(ManualKind::KeyEnd, format!("{} ({})", of_key(key), written(*at)));
                    }
                }
                ManualRemoval::Rotation { key, successor } => {
                    // A key gets another successor once the one before has ended, with a later identifier: one
                    // before this is of the backup, and one after this was made by people who repeated it.
                    if let Some(key) = valid_at(key, *now)
                        && key.rotated_to.is_none_or(|present| present < *successor)
                    {
                        self.add(ManualKind::Rotation, of_key(key));
                    }
                }
                ManualRemoval::MembershipEnd(member, at) => {
                    if let Some(member) = composition.members().identify(authority, *member, *at).await? {
                        let who = format!("{} in {slug} ({})", member.user.username, written(*at));
                        self.add(ManualKind::MembershipEnd, who);
                    }
                }
                ManualRemoval::KeyManagementOff(_) => {
                    if organization.new_keys_manage_keys {
                        let setting = format!("{slug} (cannot manage other keys by default)");
                        self.add(ManualKind::Settings, setting);
                    }
                }
                ManualRemoval::KeyLife(_, longest) => {
                    let present = organization.longest_key_life;
                    if present.is_none_or(|present| present.days() > longest.days()) {
                        let setting = format!("{slug} (maximum lifetime {longest})");
                        self.add(ManualKind::Settings, setting);
                    }
                }
                ManualRemoval::Password(_) | ManualRemoval::Sessions(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// A line for each kind.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(kind, concerned)| {
            let concerned = concerned.iter().map(String::as_str).collect::<Vec<_>>();
            format!("By hand: {}", kind.advice(&concerned.join(", ")))
        })
    }

    fn add(&mut self, kind: ManualKind, concerned: String) {
        self.0.entry(kind).or_default().insert(concerned);
    }
}

impl ManualKind {
    fn advice(self, concerned: &str) -> String {
        let [reset_password, revoke, remove_member] =
            ["admin reset-password", "admin revoke", "admin remove-member"]
                .map(program::command_on_this_database);
        match self {
            Self::Password => format!(
                "passwords were changed or reset: {concerned}. Run `{reset_password} \
                 --generate-password --username NAME` for each, which also ends their sessions"
            ),
            Self::Sessions => format!(
                "sessions were ended: {concerned}. Run `{reset_password} --generate-password \
                 --username NAME` for each, or have each end other sessions in the console"
            ),
            Self::KeyEnd => format!(
                "ends of keys were planned: {concerned}. Have their users plan them in the console, have an owner apply \
                 the maximum lifetime to existing keys again if that planned them, or run \
                 `{revoke} --organization SLUG --reason TEXT --key ID`"
            ),
            Self::Rotation => format!(
                "keys were rotated, and their new keys are lost: {concerned}. Have their users rotate them in the \
                 console, or run `{revoke} --organization SLUG --reason TEXT --key ID`"
            ),
            Self::MembershipEnd => format!(
                "ends of memberships were planned: {concerned}. Have an owner plan them in the console, or run \
                 `{remove_member} --organization SLUG --username NAME`"
            ),
            Self::Settings => format!(
                "new keys were limited: {concerned}. Have an owner set that in the console, under General"
            ),
        }
    }
}

fn written(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}
