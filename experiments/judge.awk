# The rule by which statements are judged (README.md). Statement j has the values d[j, 1] to d[j, n[j]],
# one for each seed, and a floor, bound[j]; judge() finds mean[j], sd[j], level[j], half[j], which is half
# of the interval, found[j] and, where that is "open", need[j]: the seeds that would close it.

# P(|T| < t) of Student's T: finite sums (Abramowitz and Stegun, 26.7.3 and 26.7.4). The infinite series
# have the sum 1, so P(|T| >= t) is the sum of the other terms, which is exact even far below 1e-16.
function t_within(t, df,    angle, i, term, sum) {
    angle = atan2(t, sqrt(df)); term = df % 2 ? cos(angle) : 1
    for (i = 2 + df % 2; i <= df; i += 2) { sum += term; term *= cos(angle) ^ 2 * (i - 1) / i }
    sum *= sin(angle)
    return df % 2 ? (angle + sum) * 2 / atan2(0, -1) : sum
}
function t_beyond(t, df,    square, i, term, sum) {
    square = df / (df + t * t); term = df % 2 ? sqrt(square) : 1
    if (square > 0.5) return 1 - t_within(t, df)
    for (i = 2 + df % 2; i <= df; i += 2) term *= square * (i - 1) / i
    for (; sum + term > sum; i += 2) { sum += term; term *= square * (i - 1) / i }
    return sum * sqrt(1 - square) * (df % 2 ? 2 / atan2(0, -1) : 1)
}

# The t that T stays within with a probability of 1 - a.
function t_quantile(a, df,    low, high, i) {
    if (!((a, df) in known)) {
        high = atan2(1, 0)
        for (i = 0; i < 60; i++)
            if (t_within(sqrt(df) * tangent((low + high) / 2), df) < 1 - a) low = (low + high) / 2
            else high = (low + high) / 2
        known[a, df] = sqrt(df) * tangent(low)
    }
    return known[a, df]
}
function tangent(x) { return sin(x) / cos(x) }
function abs(x) { return x < 0 ? -x : x }

# How probable it is to be `away` from the truth, or further, to either side.
function p_of(away, j) {
    if (n[j] < 2 || away <= 0) return 1
    return sd[j] ? t_beyond(away / (sd[j] / sqrt(n[j])), n[j] - 1) : 0
}

# Holm's correction: the smallest of m values of p is compared with 0.05 / m, the next with 0.05 / (m - 1),
# .., until one is larger; what comes after it gets no more than it did.
function holm(p, level, first, last,    left, j, next_one, share, done, stuck) {
    split("", done)
    for (left = last - first + 1; left; left--) {
        next_one = 0
        for (j = first; j <= last; j++) if (!(j in done) && (!next_one || p[j] < p[next_one])) next_one = j
        if (!stuck) share = 0.05 / left
        level[next_one] = share; done[next_one]
        if (p[next_one] > share) stuck = 1
    }
}

# Whether n seeds would close statement j if its mean and its spread stayed as they are.
function closes(j, seeds,    h) {
    h = t_quantile(level[j], seeds - 1) * sd[j] / sqrt(seeds)
    return abs(mean[j]) > bound[j] ? abs(mean[j]) > h : abs(mean[j]) + h < bound[j]
}
function seeds_for(j, least,    low, high) {
    low = least - 1; high = 1000
    if (n[j] < 2) return least
    if (!closes(j, high)) return high
    while (high - low > 1)
        if (closes(j, int((low + high) / 2))) high = int((low + high) / 2)
        else low = int((low + high) / 2)
    return high
}

# Judges the statements of one claim. Differences and their absence are two families, each with a
# correction of its own.
function judge(first, last, least,    j, k, p_zero, p_bound, level_bound, square) {
    for (j = first; j <= last; j++) {
        mean[j] = square = 0
        for (k = 1; k <= n[j]; k++) mean[j] += d[j, k] / n[j]
        for (k = 1; k <= n[j]; k++) square += (d[j, k] - mean[j]) ^ 2
        sd[j] = n[j] > 1 ? sqrt(square / (n[j] - 1)) : 0
        p_zero[j] = p_of(abs(mean[j]), j); p_bound[j] = p_of(bound[j] - abs(mean[j]), j)
    }
    holm(p_zero, level, first, last)
    holm(p_bound, level_bound, first, last)
    for (j = first; j <= last; j++) {
        found[j] = "open"
        if (n[j] >= least && abs(mean[j]) > bound[j] && p_zero[j] <= level[j])
            found[j] = mean[j] > 0 ? "holds" : "contrary"
        else if (abs(mean[j]) <= bound[j]) {
            level[j] = level_bound[j]
            if (n[j] >= least && p_bound[j] <= level[j]) found[j] = "no difference"
        }
        half[j] = n[j] > 1 ? t_quantile(level[j], n[j] - 1) * sd[j] / sqrt(n[j]) : ""
        if (found[j] == "open") need[j] = seeds_for(j, least)
    }
}
