interface Advice {
  readonly fits: RegExp
  readonly hint: string
}

/** Sorted: a message about a failed connection may hold a more specific reason. */
const ADVICE: readonly Advice[] = [
  {
    fits: /NOAUTH|WRONGPASS|AUTH.* called without any password/,
    hint: 'give it the user and the password of Redis: COUNTERSIGN_STORE_USERNAME and COUNTERSIGN_STORE_PASSWORD_FILE',
  },
  {
    fits: /^the replicas did not confirm/,
    hint: 'start the replicas, or let fewer confirm (COUNTERSIGN_STORE_REPLICAS); `countersign doctor` says how many there are',
  },
  {
    fits: /\bOOM\b/,
    hint: 'give Redis more memory (maxmemory), or remove data of other programs; no answered commit is lost',
  },
  {
    fits: /\bNOREPLICAS\b/,
    hint: 'start the replicas, or ask for fewer (min-replicas-to-write of Redis)',
  },
  {
    fits: /\bREADONLY\b/,
    hint: 'name the primary in --store, or make this server the primary',
  },
  {
    fits: /\bMISCONF\b/,
    hint: 'make room on the disk of Redis, and look at its log: it cannot save',
  },
  {
    fits: /\bNOPERM\b/,
    hint: 'let the user of Redis do what deploy/redis/users.acl lists for `countersign`',
  },
  {
    fits: /^no connection.*(?:certificate|altname|SSL|TLS|CERT_)/s,
    hint: 'rediss:// is for a server that speaks TLS, redis:// for one that does not; name your own authority in NODE_EXTRA_CA_CERTS. `countersign doctor` looks at the certificates',
  },
  {
    fits: /^no connection.*LOADING/s,
    hint: 'Redis still reads its data: wait until it has, and start again',
  },
  {
    fits: /^(?:no connection.*no answer within|the connection was lost)/s,
    hint: 'look at what listens there: is it Redis, and does it speak TLS (rediss://) or not (redis://)?',
  },
  {
    fits: /^no sentinel/,
    hint: 'look at the sentinels: do they run where --store says, do they know the name at its end (`redis-cli -p 26379 sentinel masters`), and do they want COUNTERSIGN_SENTINEL_PASSWORD?',
  },
  {
    fits: /^no node of the cluster/,
    hint: 'look at the nodes: do they run where --store says (`redis-cli cluster info`)? One server alone is redis://HOST',
  },
  {
    fits: /^(?:no connection|no server is known)/,
    hint: 'start Redis, or fix the connection to it (`redis-cli -h HOST -p PORT ping`); another address is named with --store. No answered commit is lost, and nothing needs repair',
  },
]

/** Advice on an unusable Redis, where there is any and the message does not already give it. */
export function redisAdvice(message: string): string | undefined {
  return ADVICE.find(({ fits }) => fits.test(message))?.hint
}
