//! Which module of a crate takes names from which, read from the sources.
//!
//! A module is a file. A name counts for the module that defines it, however many `pub use` it goes through, so a
//! parent that only passes on what its children define depends on none of them. Tests do not count.

mod circles;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use crate::failure::{Failure, Outcome};
use circles::{Arrows, circles};
use source::{Child, Source};

/// The circles among the modules of the crate whose root is this file, a sentence for each. First those of single files;
/// if there are none, those of modules with all that is in them.
pub(super) fn circles_in(root: &Path, read: &dyn Fn(&Path) -> io::Result<String>) -> Outcome<Vec<String>> {
    let mut modules = Modules::default();
    let folder = root.parent().unwrap_or(root);
    let text = read(root).map_err(Failure::about(root.display()))?;
    modules.add("crate", root, &text, folder, read)?;
    let arrows = modules.arrows();
    let among_files = circles(&arrows);
    if among_files.is_empty() {
        return Ok(circles(&between_siblings(&arrows)));
    }
    Ok(among_files)
}

/// The modules of a crate, by their paths from `crate`.
#[derive(Default)]
struct Modules(BTreeMap<String, Source>);

impl Modules {
    /// `folder` is where the files of its children are.
    fn add(
        &mut self,
        path: &str,
        file: &Path,
        text: &str,
        folder: &Path,
        read: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Outcome {
        let source = Source::parse(text).map_err(Failure::about(file.display()))?;
        for Child { name, file: named } in &source.children {
            let child = format!("{path}::{name}");
            let beside = file.parent().unwrap_or(folder);
            let candidates = match named {
                // The files of its children stand beside it, as those of a `mod.rs` do.
                Some(named) => vec![beside.join(named)],
                None => vec![
                    folder.join(format!("{name}.rs")),
                    folder.join(name).join("mod.rs"),
                ],
            };
            let found = candidates.iter().find_map(|file| Some((file, read(file).ok()?)));
            let (file, text) = found.ok_or_else(|| {
                Failure::new(format!(
                    "{}: no file of `mod {name};` can be read",
                    file.display()
                ))
            })?;
            let folder = match named {
                Some(_) => file.parent().unwrap_or(beside).to_owned(),
                None => folder.join(name),
            };
            self.add(&child, file, &text, &folder, read)?;
        }
        self.0.insert(path.to_owned(), source);
        Ok(())
    }

    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (module, source) in &self.0 {
            let targets = arrows.entry(module.clone()).or_default();
            for path in &source.paths {
                let Some((target, name)) = self.definition(module, path, &mut BTreeSet::new()) else {
                    continue;
                };
                if target != *module {
                    targets.entry(target).or_insert(name);
                }
            }
        }
        arrows
    }

    /// The module that defines what the path names, and the name; nothing for modules and for what other crates define.
    fn definition(
        &self,
        module: &str,
        path: &[String],
        seen: &mut BTreeSet<(String, String)>,
    ) -> Option<(String, String)> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.within("crate", rest, true, seen),
            "self" => self.within(module, rest, true, seen),
            "super" => self.within(parent(module)?, rest, true, seen),
            _ => self.within(module, path, false, seen),
        }
    }

    /// `surely` if the path can only lead into this crate, so that a name which no keyword defines is of a macro.
    fn within(
        &self,
        module: &str,
        path: &[String],
        surely: bool,
        seen: &mut BTreeSet<(String, String)>,
    ) -> Option<(String, String)> {
        let (name, rest) = path.split_first()?;
        if name == "super" {
            return self.within(parent(module)?, rest, true, seen);
        }
        let child = format!("{module}::{name}");
        if self.0.contains_key(&child) {
            return self.within(&child, rest, true, seen);
        }
        if !seen.insert((module.to_owned(), name.clone())) {
            return None;
        }
        let source = self.0.get(module)?;
        let here = Some((module.to_owned(), name.clone()));
        if source.defined.contains(name) || name == "*" {
            return here;
        }
        if let Some(import) = source.imports.iter().find(|import| import.name == *name) {
            let path: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            return self.definition(module, &path, seen);
        }
        let globs = source.imports.iter().filter(|import| import.name == "*");
        let elsewhere = globs.map(|glob| &glob.path).find_map(|glob| {
            let path: Vec<String> = glob[..glob.len() - 1].iter().chain(path).cloned().collect();
            self.definition(module, &path, seen)
        });
        elsewhere.or(here.filter(|_| surely))
    }
}

fn parent(module: &str) -> Option<&str> {
    Some(module.rsplit_once("::")?.0)
}

/// The arrows between modules of one parent, each with all that is in it.
fn between_siblings(arrows: &Arrows) -> Arrows {
    let mut siblings = Arrows::new();
    for (from, targets) in arrows {
        for (to, name) in targets {
            let (mut ours, mut theirs) = (from.split("::"), to.split("::"));
            let mut path = Vec::new();
            while let (Some(our), Some(their)) = (ours.next(), theirs.next()) {
                if our != their {
                    let sibling = |last| [&path[..], &[last]].concat().join("::");
                    let targets = siblings.entry(sibling(our)).or_default();
                    targets.entry(sibling(their)).or_insert_with(|| name.clone());
                    break;
                }
                path.push(our);
            }
        }
    }
    siblings
}

#[cfg(test)]
mod tests;
