//! The database: every call is one transaction.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use keyward_domain::access::{CallerOrganization, CallingKey, Credential};
use keyward_domain::access_changes::{
    ChangeNumber, Concern, PolledChanges, RegisteredReplica, RegisteredReplicas, ReplicaId,
};
use keyward_domain::holder::Consumer;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId, UserId};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::token::TokenDigest;
use keyward_domain::user::Username;
use uuid::Uuid;

/// How many changes the log holds.
const LOGGED: usize = 1;

/// Which of the two keys.
pub(super) type Key = usize;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Database {
    revoked: [bool; 2],
    counter: u64,
    log: Vec<(u64, Key)>,
    rows: BTreeMap<u8, u64>,
}

impl Database {
    pub(super) fn is_revoked(&self, key: Key) -> bool {
        self.revoked[key]
    }

    pub(super) fn revoke(&mut self, key: Key) {
        if !self.revoked[key] {
            self.revoked[key] = true;
            self.counter += 1;
            self.log.push((self.counter, key));
            self.log.drain(..self.log.len().saturating_sub(LOGGED));
        }
    }

    /// What a query finds while the key is valid.
    pub(super) fn valid(key: Key) -> &'static Credential {
        static VALID: LazyLock<[Credential; 2]> = LazyLock::new(|| [0, 1].map(credential));
        &VALID[key]
    }

    pub(super) fn register(&mut self, replica: u8) -> ChangeNumber {
        self.rows.insert(replica, self.counter);
        ChangeNumber::from_u64(self.counter)
    }

    pub(super) fn poll(&self, replica: u8) -> PolledChanges {
        let changes = self.log.iter();
        PolledChanges {
            counter: ChangeNumber::from_u64(self.counter),
            acknowledged: self.rows.get(&replica).map(|seen| ChangeNumber::from_u64(*seen)),
            changes: changes
                .map(|(number, key)| {
                    let concern = Concern::ApiKey(ApiKeyId::from_uuid(uuid(1 + *key as u128)));
                    (ChangeNumber::from_u64(*number), concern)
                })
                .collect(),
        }
    }

    pub(super) fn acknowledge(&mut self, replica: u8, seen: ChangeNumber) -> bool {
        let row = self.rows.get_mut(&replica);
        row.map(|row| *row = seen.as_u64()).is_some()
    }

    pub(super) fn replicas(&self) -> RegisteredReplicas {
        let replicas = self.rows.iter();
        RegisteredReplicas {
            counter: ChangeNumber::from_u64(self.counter),
            replicas: replicas
                .map(|(id, seen)| RegisteredReplica {
                    id: ReplicaId::from_uuid(uuid(u128::from(*id))),
                    name: String::new(),
                    acknowledged: ChangeNumber::from_u64(*seen),
                })
                .collect(),
        }
    }

    pub(super) fn strike_off(&mut self, replica: ReplicaId, unless_seen: ChangeNumber) {
        let struck = |id: u8| uuid(u128::from(id)) == replica.as_uuid();
        self.rows
            .retain(|id, seen| !struck(*id) || *seen >= unless_seen.as_u64());
    }
}

pub(super) fn digest(key: Key) -> TokenDigest {
    TokenDigest::from_bytes([u8::try_from(key).unwrap(); 32])
}

fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn credential(key: Key) -> Credential {
    let name = OrganizationName::parse("Acme").unwrap();
    Credential {
        api_key: CallingKey {
            id: ApiKeyId::from_uuid(uuid(1 + key as u128)),
            created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            can_manage_keys: true,
        },
        consumer: Consumer {
            id: MembershipId::from_uuid(uuid(3)),
            user_id: UserId::from_uuid(uuid(4)),
            username: Username::parse("ada").unwrap(),
        },
        organization: CallerOrganization {
            id: OrganizationId::from_uuid(uuid(4)),
            slug: Slug::from_name(&name),
            name,
        },
        key_end: None,
        membership_end: None,
    }
}
