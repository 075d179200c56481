//! Circles in a graph of modules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// For each module, those that it takes names from, and one name of each.
pub(super) type Arrows = BTreeMap<String, BTreeMap<String, String>>;

/// The shortest circle through each module that stands in one, unless another of its modules had it first, as
/// a sentence: `crate::a takes X from crate::b, which takes Y from crate::a`.
pub(super) fn circles(arrows: &Arrows) -> Vec<String> {
    let mut found = Vec::new();
    let mut reported = BTreeSet::new();
    for module in arrows.keys() {
        let circle = (!reported.contains(module.as_str())).then(|| shortest_circle(arrows, module));
        if let Some(circle) = circle.flatten() {
            found.push(sentence(arrows, &circle));
            reported.extend(circle);
        }
    }
    found
}

/// The way from the module back to itself, the module at both ends.
fn shortest_circle<'a>(arrows: &'a Arrows, module: &'a str) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![module]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for to in arrows
            .get(way[way.len() - 1])
            .into_iter()
            .flat_map(BTreeMap::keys)
        {
            let longer = [&way[..], &[to]].concat();
            if to == module {
                return Some(longer);
            }
            if seen.insert(to) {
                ways.push_back(longer);
            }
        }
    }
    None
}

fn sentence(arrows: &Arrows, circle: &[&str]) -> String {
    let steps: Vec<String> = circle
        .windows(2)
        .map(|step| format!("takes {} from {}", arrows[step[0]][step[1]], step[1]))
        .collect();
    format!("{} {}", circle[0], steps.join(", which "))
}
