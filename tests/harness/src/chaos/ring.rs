//! The order of origins as a build walks it, and where it differs from the others by its documents.

use super::deed::Fate;
use super::weather::{Kind, SITES};
use crate::driver::World;

pub(super) struct Ring {
    /// The sites that are asked at all.
    sites: Vec<usize>,
    /// A redirect in mid-upload is the answer.
    pub(super) answers_redirects: bool,
    /// A client that is held back is taken for a silent one.
    pub(super) holds_clients_back: bool,
    /// A hop that fails is final.
    final_hops: bool,
}

impl Ring {
    pub(super) fn of(world: World) -> Self {
        let envoy = world == World::Envoy;
        // Envoy passes over an origin without an address.
        let asked = |kind: Kind| !(envoy && kind == Kind::Unresolvable);
        let sites = SITES.iter().enumerate().filter(|(_, site)| asked(site.kind));
        Self {
            sites: sites.map(|(index, _)| index).collect(),
            answers_redirects: envoy,
            holds_clients_back: envoy,
            final_hops: envoy,
        }
    }

    /// So many sites in a row, of which this is the last.
    pub(super) fn before(&self, last: usize, count: usize) -> Vec<usize> {
        let size = self.sites.len();
        let end = self.position(last) + size;
        (0..count).filter_map(|back| self.sites.get((end + back + 1 - count) % size).copied()).collect()
    }

    /// The way from one site to another, both included.
    pub(super) fn from(&self, first: usize, last: usize) -> Vec<usize> {
        let (start, end, size) = (self.position(first), self.position(last), self.sites.len());
        let steps = (end + size - start) % size;
        (0..=steps).filter_map(|step| self.sites.get((start + step) % size).copied()).collect()
    }

    /// Whether a request may end there with attempts to spare.
    pub(super) fn ends_at(&self, fate: &Fate) -> bool {
        self.final_hops && matches!(fate, Fate::Redirect)
    }

    fn position(&self, site: usize) -> usize {
        self.sites.iter().position(|known| *known == site).unwrap_or_default()
    }
}
