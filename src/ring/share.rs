//! Configured shares through nested groups (methods §16.1): the product of `weight / sum of weights` down the tree; an ordered
//! group gives everything to its first member.

use crate::vocabulary::{PoolId, Selection};

/// A pool as a tree of groups with leaves by index.
#[derive(Debug, Clone, PartialEq)]
pub enum ShareNode {
    /// A member, by its index.
    Leaf(usize),
    /// A group with its own selection.
    Group {
        /// The route it stands for; tiers of one route share it.
        route: PoolId,
        /// How it picks.
        selection: Selection,
        /// Children with their weights, in order.
        children: Vec<(Self, f64)>,
    },
}

impl ShareNode {
    /// The tree without the leaves that are not kept; `None` when nothing is left.
    pub fn retain(self, keep: &impl Fn(usize) -> bool) -> Option<Self> {
        match self {
            Self::Leaf(i) => keep(i).then_some(Self::Leaf(i)),
            Self::Group { route, selection, children } => {
                let children: Vec<_> =
                    children.into_iter().filter_map(|(child, weight)| Some((child.retain(keep)?, weight))).collect();
                (!children.is_empty()).then_some(Self::Group { route, selection, children })
            }
        }
    }

    /// The tree with its leaves numbered anew.
    pub fn renumber(&mut self, number: &impl Fn(usize) -> usize) {
        match self {
            Self::Leaf(i) => *i = number(*i),
            Self::Group { children, .. } => children.iter_mut().for_each(|(child, _)| child.renumber(number)),
        }
    }

    /// The first group that spreads work by weight, on the way of first children from the root: its children with their
    /// weights. `None` when none does.
    pub fn rotating(&self) -> Option<&[(Self, f64)]> {
        match self {
            Self::Leaf(_) => None,
            Self::Group { selection: Selection::Ordered, children, .. } => children.first()?.0.rotating(),
            Self::Group { children, .. } => Some(children),
        }
    }

    /// The index of the first leaf.
    pub fn first_leaf(&self) -> Option<usize> {
        match self {
            Self::Leaf(i) => Some(*i),
            Self::Group { children, .. } => children.first()?.0.first_leaf(),
        }
    }
}

/// The configured share of each of `leaves` members; a member that is not in the tree has 0.
pub fn configured_shares(tree: &ShareNode, leaves: usize) -> Vec<f64> {
    let mut shares = vec![0.0; leaves];
    spread(tree, 1.0, &mut shares);
    shares
}

/// Spreads a share over a subtree.
fn spread(node: &ShareNode, share: f64, shares: &mut [f64]) {
    match node {
        ShareNode::Leaf(i) => shares[*i] += share,
        ShareNode::Group { selection: Selection::Ordered, children, .. } => {
            if let Some((first, _)) = children.first() {
                spread(first, share, shares);
            }
        }
        ShareNode::Group { children, .. } => {
            // Weights are finite, their sum may not be: dividing first keeps every share in 0 to 1.
            let largest = children.iter().map(|(_, weight)| *weight).fold(f64::MIN_POSITIVE, f64::max);
            let total: f64 = children.iter().map(|(_, weight)| weight / largest).sum();
            for (child, weight) in children {
                spread(child, share * (weight / largest) / total, shares);
            }
        }
    }
}

/// The index of the lead: the largest share, ties to the first in order. `None` of no members.
pub fn lead_of(shares: &[f64]) -> Option<usize> {
    let mut lead: Option<usize> = None;
    for (i, share) in shares.iter().enumerate() {
        if lead.is_none_or(|best| share.total_cmp(&shares[best]).is_gt()) {
            lead = Some(i);
        }
    }
    lead
}
