//! Sharing what several use at once: max-min fairness, by progressive filling (Bertsekas and Gallager, Data
//! Networks, 6.5.2).

/// What one of the users can take.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Demand {
    /// Alone, per ns.
    pub most: f64,
    /// What it takes that from, besides what is its own: a place in the list of capacities.
    pub through: Option<usize>,
}

/// The rate of each user: nobody can have more without taking from one who has no more.
pub(super) fn fair(demands: &[Demand], capacities: &[f64]) -> Vec<f64> {
    let mut rates = vec![0.0; demands.len()];
    let mut left = capacities.to_vec();
    let mut open: Vec<usize> = (0..demands.len()).collect();
    while !open.is_empty() {
        let mut users = vec![0_u32; left.len()];
        open.iter().filter_map(|i| demands[*i].through).for_each(|place| users[place] += 1);
        // As much as each could have if all who share were alike.
        let could = |i: usize| {
            let share = demands[i].through.map(|place| left[place] / f64::from(users[place]));
            share.map_or(demands[i].most, |share| share.min(demands[i].most))
        };
        let level = open.iter().map(|i| could(*i)).fold(f64::INFINITY, f64::min);
        let (full, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|i| could(**i) <= level);
        for i in full {
            rates[i] = level;
            if let Some(place) = demands[i].through {
                left[place] -= level;
            }
        }
        open = rest;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn demand() -> impl Strategy<Value = Demand> {
        (1_u32..100, proptest::option::of(0_usize..3))
            .prop_map(|(most, through)| Demand { most: most.into(), through })
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_there_is_nor_less_than_a_fair_share(
            demands in proptest::collection::vec(demand(), 1..8),
            capacities in proptest::collection::vec(1_u32..100, 3),
        ) {
            let capacities: Vec<f64> = capacities.into_iter().map(f64::from).collect();
            let rates = fair(&demands, &capacities);
            for (place, capacity) in capacities.iter().enumerate() {
                let here: Vec<usize> = (0..demands.len()).filter(|i| demands[*i].through == Some(place)).collect();
                let taken: f64 = here.iter().map(|i| rates[*i]).sum();
                prop_assert!(taken <= capacity * (1.0 + 1e-9));
                for i in here.iter().copied() {
                    // Who doesn't get all it can take has no less than any other, and nothing is left.
                    if rates[i] < demands[i].most {
                        prop_assert!(here.iter().all(|j| rates[*j] <= rates[i] * (1.0 + 1e-9)));
                        prop_assert!(taken >= capacity * (1.0 - 1e-9));
                    }
                }
            }
            for (demand, rate) in demands.iter().zip(&rates) {
                prop_assert!(*rate > 0.0 && *rate <= demand.most);
                prop_assert!(demand.through.is_some() || *rate == demand.most);
            }
        }
    }
}
