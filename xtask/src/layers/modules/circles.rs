//! Circles in a graph of modules.

use std::collections::{BTreeMap, BTreeSet};

/// For each module, those that it takes names from, and one name of each.
pub(super) type Arrows = BTreeMap<String, BTreeMap<String, String>>;

/// One circle for each set of modules that all reach each other, the shortest through the first of them, as a sentence:
/// `crate::a takes X from crate::b, which takes Y from crate::a`.
pub(super) fn circles(arrows: &Arrows) -> Vec<String> {
    let mut found = Vec::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for module in arrows.keys() {
        if told.contains(module.as_str()) {
            continue;
        }
        if let Some(circle) = shortest_circle(arrows, module) {
            let from_here = reached(arrows, module);
            let tied = from_here
                .into_iter()
                .filter(|other| reached(arrows, other).contains(module.as_str()));
            told.extend(tied);
            found.push(sentence(arrows, &circle));
        }
    }
    found
}

/// Everything that a module takes names from, directly or through others.
fn reached<'a>(arrows: &'a Arrows, module: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = targets(arrows, module).collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(targets(arrows, module));
        }
    }
    found
}

/// The way from the module back to itself, the module at both ends.
fn shortest_circle<'a>(arrows: &'a Arrows, module: &'a str) -> Option<Vec<&'a str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut here = vec![module];
    while !here.is_empty() {
        let mut next = Vec::new();
        for from in here {
            for to in targets(arrows, from) {
                if to == module {
                    let mut way = vec![module, from];
                    while let Some(before) = came_from.get(way[way.len() - 1]) {
                        way.push(before);
                    }
                    way.reverse();
                    return Some(way);
                }
                if !came_from.contains_key(to) {
                    came_from.insert(to, from);
                    next.push(to);
                }
            }
        }
        here = next;
    }
    None
}

fn targets<'a>(arrows: &'a Arrows, module: &str) -> impl Iterator<Item = &'a str> {
    arrows
        .get(module)
        .into_iter()
        .flat_map(BTreeMap::keys)
        .map(String::as_str)
}

fn sentence(arrows: &Arrows, circle: &[&str]) -> String {
    let steps: Vec<String> = circle
        .windows(2)
        .map(|step| format!("takes {} from {}", arrows[step[0]][step[1]], step[1]))
        .collect();
    format!("{} {}", circle[0], steps.join(", which "))
}
