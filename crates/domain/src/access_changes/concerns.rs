//! The keys that the changes of one transaction concern.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::Concern;
use crate::audit::AuditEvent;
use crate::id::{ApiKeyId, MembershipId, OrganizationId};

/// The keys that the events of one transaction concern, each with the organization of its event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Concerns(BTreeMap<Concern, Option<OrganizationId>>);

impl Concerns {
    /// How many the log lists of one transaction.
    const LISTED: usize = 64;

    /// Adds whom an event is about, if it changes what any key may do or reach.
    pub fn note(&mut self, event: &AuditEvent) {
        if let Some(concern) = Concern::of_event(event) {
            self.0.insert(concern, event.organization_id);
        }
    }

    /// The keys whose consumers have to be found before the [summary](Self::summary): all of them if they are
    /// too many to be listed, else none.
    #[must_use]
    pub fn keys_too_many_to_list(&self) -> Vec<ApiKeyId> {
        let keys = self.0.keys().filter_map(|concern| match concern {
            Concern::ApiKey(key) if !self.are_few() => Some(*key),
            _ => None,
        });
        keys.collect()
    }

    /// Shortens the list for the log. If there are too many keys, it names consumers in their place, those
    /// with the most keys first; if there are too many consumers, organizations, those with the most
    /// consumers first; and everyone only if there are too many of these. So if many keys end at once,
    /// replicas read few keys of other consumers again.
    #[must_use]
    pub fn summary(mut self, consumers: &HashMap<ApiKeyId, MembershipId>) -> Vec<Concern> {
        self.widen(|concern, _| match concern {
            Concern::ApiKey(key) => consumers.get(&key).copied().map(Concern::Consumer),
            _ => None,
        });
        self.widen(|_, organization| organization.map(Concern::Organization));
        if self.are_few() {
            self.0.into_keys().collect()
        } else {
            vec![Concern::Everyone]
        }
    }

    /// Lists in place of others a wider concern that they have in common, where most have one first, until
    /// they are few enough.
    fn widen(&mut self, wider: impl Fn(Concern, Option<OrganizationId>) -> Option<Concern>) {
        let mut groups: BTreeMap<Concern, Vec<Concern>> = BTreeMap::new();
        for (concern, organization) in self.0.iter().filter(|_| !self.are_few()) {
            if let Some(wider) = wider(*concern, *organization) {
                groups.entry(wider).or_default().push(*concern);
            }
        }
        let mut groups: Vec<(Concern, Vec<Concern>)> = groups.into_iter().collect();
        groups.sort_by_key(|(_, narrow)| Reverse(narrow.len()));
        for (wider, narrow) in groups {
            if self.are_few() {
                return;
            }
            if narrow.len() == 1 && !self.0.contains_key(&wider) {
                continue;
            }
            let organizations = narrow.iter().map(|concern| self.0.remove(concern).flatten());
            let organization = organizations.fold(None, Option::or);
            self.0.insert(wider, organization);
        }
    }

    fn are_few(&self) -> bool {
        self.0.len() <= Self::LISTED
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const fn organization(number: u128) -> OrganizationId {
        OrganizationId::from_uuid(Uuid::from_u128(number))
    }

    const fn consumer(number: u128) -> MembershipId {
        MembershipId::from_uuid(Uuid::from_u128(number))
    }

    const fn key(number: u128) -> ApiKeyId {
        ApiKeyId::from_uuid(Uuid::from_u128(number))
    }

    /// Ended keys: of how many, of which consumer, of which organization.
    fn summary(ended: impl IntoIterator<Item = (u128, u128, u128)>) -> Vec<Concern> {
        let mut concerns = Concerns::default();
        let mut consumers = HashMap::new();
        for (keys, of_consumer, of_organization) in ended {
            for _ in 0..keys {
                let key = key(1_000_000 + consumers.len() as u128);
                consumers.insert(key, consumer(of_consumer));
                let of_event = Some(organization(of_organization));
                concerns.0.insert(Concern::ApiKey(key), of_event);
            }
        }
        let asked = concerns.keys_too_many_to_list();
        consumers.retain(|key, _| asked.contains(key));
        concerns.summary(&consumers)
    }

    #[test]
    fn few_keys_are_listed_each() {
        let listed = summary([(32, 1, 1), (32, 2, 1)]);
        assert_eq!(listed.len(), 64);
        assert!(listed.iter().all(|concern| matches!(concern, Concern::ApiKey(_))));
    }

    #[test]
    fn many_keys_of_a_consumer_are_listed_as_that_consumer() {
        assert_eq!(summary([(65, 1, 1)]), [Concern::Consumer(consumer(1))]);
        let mut listed = summary([(2_000, 1, 1), (2, 2, 1)]);
        assert_eq!(listed.pop(), Some(Concern::Consumer(consumer(1))));
        assert_eq!(
            listed,
            [1_002_000, 1_002_001].map(|of_another| Concern::ApiKey(key(of_another)))
        );
    }

    #[test]
    fn many_consumers_are_listed_as_their_organization() {
        let many = (0..100).map(|consumer| (2, consumer, 1));
        let listed = summary(many.chain([(2, 200, 2), (1, 201, 3)]));
        let expected = [
            Concern::ApiKey(key(1_000_202)),
            Concern::Consumer(consumer(200)),
            Concern::Organization(organization(1)),
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn too_many_organizations_are_everyone() {
        assert_eq!(summary((0..65).map(|one| (1, one, one))), [Concern::Everyone]);
    }

    #[test]
    fn key_of_an_unknown_consumer_is_listed_as_its_organization() {
        let mut concerns = Concerns::default();
        for number in 0..65 {
            concerns
                .0
                .insert(Concern::ApiKey(key(number)), Some(organization(7)));
        }
        let consumers = HashMap::from([(key(1), consumer(1))]);
        assert_eq!(
            concerns.summary(&consumers),
            [Concern::Organization(organization(7))]
        );
    }

    #[test]
    fn concern_without_an_organization_is_listed_among_many() {
        let mut concerns = Concerns(BTreeMap::from([(Concern::Consumer(consumer(9)), None)]));
        for number in 0..65 {
            concerns
                .0
                .insert(Concern::ApiKey(key(number)), Some(organization(7)));
        }
        assert_eq!(
            concerns.summary(&HashMap::new()),
            [
                Concern::Consumer(consumer(9)),
                Concern::Organization(organization(7))
            ]
        );
    }
}
