/**
 * The rules of prose, one row each. `find` matches in the text (code and quotations are `§` there), `say` is what the writer reads, `bad` and `good` are
 * examples that test/prose.test.ts holds the rule to. `in` names the kinds of text that the rule reads; without it, the rule reads all.
 */

/** Longest sentence, in words; inline code counts as one, and so does a list of it. */
export const MOST_WORDS = 25
/** Explanations (docs/explanation) may take longer sentences. */
export const MOST_WORDS_EXPLAINING = 35
/** Longest line of Markdown and of comments, in characters. */
export const MOST_COLUMNS = 120

const word = (text) => new RegExp(`\\b(?:${text})\\b`, 'gi')

/** Words that docs/contributing/words.md replaces, wherever they can only mean its term. */
const VOCABULARY = [
  {
    find: word('approvers?'),
    term: 'reviewer',
    bad: 'Each approver votes once.',
    good: 'Each reviewer votes once.',
  },
  { find: word('parked'), term: 'held', bad: 'The call is parked.', good: 'The call is held.' },
  {
    find: word('approval requests?|tickets?'),
    term: 'thread',
    bad: 'It opens a ticket.',
    good: 'It opens a thread.',
  },
  {
    find: word('tree heads?|seals?'),
    term: 'checkpoint',
    bad: 'Sign the tree head.',
    good: 'Sign the checkpoint.',
  },
  {
    find: word('happenings?'),
    term: 'evidence record',
    bad: 'It writes a happening.',
    good: 'It writes an evidence record.',
  },
  {
    find: word('organi[sz]ations?'),
    term: 'tenant',
    bad: 'Each organisation has keys.',
    good: 'Each tenant has keys.',
  },
  {
    find: word('quotas?'),
    term: 'budget or limit',
    bad: 'The quota is spent.',
    good: 'The budget is spent.',
  },
  { find: word('rule ?sets?'), term: 'bundle', bad: 'It loads the rule set.', good: 'It loads the bundle.' },
  {
    find: word('tool definitions?'),
    term: 'contract',
    bad: 'Write a tool definition.',
    good: 'Write a contract.',
  },
  { find: word('executors?'), term: 'runtime', bad: 'The executor asks.', good: 'The runtime asks.' },
  {
    find: /\b(?:consum|cash)\w* (?:a|an|the|its|no|any|each) (?:\w+ )?(?:proofs?|tokens?)\b/gi,
    term: 'redeem',
    bad: 'It consumes the proof.',
    good: 'It redeems the proof.',
  },
  {
    find: word('approval tokens?|permits?(?= (?:is|are|was))'),
    term: 'proof',
    bad: 'The approval token works once.',
    good: 'The proof works once.',
  },
].map(({ find, term, bad, good }) => ({
  id: 'vocabulary',
  find,
  term,
  say: `write "${term}" (docs/contributing/words.md)`,
  bad: [bad],
  good: [good],
}))

/** Phrases that made native readers stop. */
const PHRASES = [
  {
    id: 'told',
    find: word('(?<!retold )told|tells? apart'),
    say: 'use the verb of the field: reports, notifies, writes, distinguishes',
    bad: ['Reviewers are told of it.', 'It tells apart two spellings.'],
    good: ['The gateway notifies reviewers.'],
  },
  {
    id: 'stands',
    find: /\bst(?:and|ands|ood)\b(?!-alone|\s+for\b)/gi,
    say: 'use the verb of the field: is stored, appears, is written, holds',
    bad: ['The digest stands in the record.', 'how it stood before'],
    good: ['The record holds the digest.', 'A standalone server', 'C stands for Call.'],
  },
  {
    id: 'nobody',
    find: word('nobody|somebody|anybody|everybody|whoever|whomever'),
    say: 'name the actor: no reviewer, an agent, every caller',
    bad: ['Nobody may vote.', 'Whoever holds it is trusted.'],
    good: ['No reviewer may vote.', 'Anyone who holds the key is trusted.'],
  },
  {
    id: 'none',
    find: /\bnone (?:is|are|was|were|has|have|may|can|waits?|of it)\b|\b(?:is|are|was|were) none\b/gi,
    say: 'name what is missing: no rule, no record',
    bad: ['None is remembered.', 'what is none names nothing'],
    good: ['No delivery is remembered.', 'none of the rules fires'],
  },
  {
    id: 'goes',
    find: /(?<!["'=\w-])goes\b|\b(?:go|going|went) on\b|\bgone (?!when|after|with)(?:on|by)\b/gi,
    say: 'use the verb of the field: continues, is deleted, is sent',
    bad: ['The record goes when it expires.', 'The agent goes on.'],
    good: ['The record is deleted when it expires.', 'The agent continues.'],
  },
  {
    id: 'comes',
    find: /\b(?:comes?|came) (?:again|late|later|meanwhile|in|out|too|back|to nothing)\b/gi,
    say: 'use the verb of the field: arrives, returns, precedes',
    bad: ['An answer comes late.', 'what came meanwhile'],
    good: ['The answer arrives late.', 'It comes from policy.'],
  },
  {
    id: 'what-is',
    find: /\bwhat (?:is|was|are|were) (?!wrong|new|next|true|missing\b)(?:not |never |no longer |still |only )?(?:\w+(?:ed|en|ept|elt|ent|ung|ut)|under|held|left|due|there|said|read|known|behind|none|in|on|of|its|theirs|ours)\b(?![^.\n]*\?)/gi,
    say: 'name the thing in place of "what is ..."',
    bad: ['What is left out shows.', 'what is under way is cancelled'],
    good: ['Missing records show.', 'say what is wrong'],
  },
  {
    id: 'what-came',
    find: /\bwhat (?:came|comes|goes|went|stands|stood|waits|waited|follows|cannot|lies|lives|ends|begins|remains|stays|belongs|concerns)\b(?![^.\n]*\?)/gi,
    say: 'name the thing in place of "what comes ..."',
    bad: ['It counts what waits.', 'what cannot be checked'],
    good: ['It counts waiting threads.', 'see what happens'],
  },
  {
    id: 'what-subject',
    find: /(?<=^|[.!:]\s+)What (?!is\b|are\b|to\b|if\b)[^?\n§.]*(?:§[^?\n.]*)*(?:\.|$)/gm,
    in: ['paragraph', 'item', 'comment'],
    say: 'begin with a noun, not with a relative clause',
    bad: ['What it throws passes through.'],
    good: ['Errors of your function are thrown unchanged.', 'What does it cost?'],
  },
  {
    id: 'of-opening',
    find: /(?<=^|[.!:]\s+)(?:Of (?!course\b)|That (?:a|an|the|it|no|none|they|this) )/gm,
    in: ['paragraph', 'item', 'comment', 'docstring', 'string', 'cell'],
    say: 'begin with the subject',
    bad: ['Of both only the names are stored.', 'That a key exists is enough.'],
    good: ['Evidence stores only the names of both.'],
  },
  {
    id: 'a-text',
    find: /\ba texts?\b(?! (?:cell|file|field|box|node|block|area)\b)/gi,
    in: ['comment', 'docstring'],
    say: 'write "a string", or "text" without an article',
    bad: ['Encrypts a text.'],
    good: ['Encrypts a string.', 'Text of any length', 'a text field'],
  },
  {
    id: 'one-that',
    find: /\b(?:is|are|(?<!must )be|was|as) (?:one (?!of §)|ones |those |that )(?:that|which|of|whose|who)\b|\bthe ones? (?:of|whose|which)\b|\bthat which\b/gi,
    say: 'name the thing in place of "one that"',
    bad: ['A setting is one that has a default.', 'the one of the future'],
    good: ['A setting has a default.', 'the future checkpoint', 'The level must be one of three.'],
  },
  {
    id: 'double-negative',
    find: /\b(?:not|never|nothing|cannot|no \w+)(?: (?!and\b|but\b|or\b|so\b)\w+){0,4} (?:not|never|nothing|none|without any|un(?:seen|known|noticed|checked|told|used))\b/gi,
    say: 'say it without the second negation',
    bad: ['A setting is not passed over unseen.', 'No rule that does not fire counts.'],
    good: ['Unknown settings are reported.', 'It does not vote and it does not claim.'],
  },
  {
    id: 'stumble',
    find: word(
      'reckons?|reckoned|for ever|seldom|beforehand|thereof|wherein|herein|whereof|therein|hearsay|likewise|lest|no use|at all times|so is that no|lives? through|lived through|passe[sd] over|never comes? back|as it was read|what of it|to its full length',
    ),
    say: 'use plain words: computes, forever, rarely, replays, ignores',
    bad: ['It seldom happens.', 'Verify lives through the log.'],
    good: ['It rarely happens.', 'Verify replays the log.'],
  },
]

const OPENINGS = [
  {
    id: 'docstring-opening',
    find: /^\s*(?:What|Of|Where|Who|Whose|Whom|That|Which)\b(?!\.\w)/g,
    in: ['docstring'],
    say: 'open with a noun or a verb of the thing',
    bad: ['What a proof is bound to.', 'Of the record that proves who calls.', 'Where the key is kept.'],
    good: ['Returns the bound of a proof.', 'The place of the key.'],
  },
]

/** Rules of whole lines of Markdown, code included. */
export const LINE_RULES = [
  {
    id: 'wrong-package',
    find: /\bpackage `countersign`|\bpip3? install (?:-\S+ )*countersign(?!-sdk|[\w/])/i,
    say: 'name countersign-sdk: on the public index of Python, another project has the name countersign',
    bad: ['Install the package `countersign`.', 'pip install -U countersign'],
    good: [
      'Install the package `countersign-sdk`.',
      'pip install countersign-sdk',
      'pip uninstall countersign',
    ],
  },
]

export const RULES = [...VOCABULARY, ...PHRASES, ...OPENINGS]

const ABBREVIATION = /\b(?:e\.g|i\.e|vs|etc|cf|approx|no|St)\.$/i

/** Sentences with their offsets in the text. */
export function sentencesOf(text) {
  const found = []
  let from = 0
  const ends = [...text.matchAll(/[.!?…]["')\]]*(?=\s)/g)].map((match) => match.index + match[0].length)
  for (const end of [...ends, text.length]) {
    const sentence = text.slice(from, end)
    if (ABBREVIATION.test(sentence) || (end !== text.length && sentence.trim() === '')) continue
    if (sentence.trim() !== '')
      found.push({ at: from + sentence.length - sentence.trimStart().length, text: sentence.trim() })
    from = end
  }
  return found
}

const LIST_OF_CODE = /§(?:,? (?:and |or )?§)+/g

export const wordsIn = (sentence) =>
  sentence
    .replaceAll(LIST_OF_CODE, '§')
    .split(/\s+/)
    .filter((one) => /[\p{L}\p{N}§]/u.test(one)).length

/** Returns the problems of one text: `{ id, at, say, found }`, with the offset in the text. */
export function problemsIn({ kind, text }, mostWords = MOST_WORDS) {
  const phrases = RULES.filter((rule) => rule.in === undefined || rule.in.includes(kind)).flatMap((rule) =>
    [...text.matchAll(rule.find)].map((match) => ({
      id: rule.id,
      at: match.index,
      say: rule.say,
      found: match[0].trim(),
    })),
  )
  return kind === 'heading' ? phrases : [...phrases, ...longSentences(kind, text, mostWords)]
}

/** False for data in a string, such as a list of codes: every sentence has one of these words. */
const isProse = (text) => /\b(?:the|an?|is|are|of|to|in|and|or|for|that|with|no|not|by)\b/.test(text)

function longSentences(kind, text, mostWords) {
  // a message says what is wrong and what to do, with a semicolon between
  const parts = kind === 'string' ? text.split(/(?<=;)\s/) : [text]
  let from = 0
  return parts.flatMap((part) => {
    const start = text.indexOf(part, from)
    from = start + part.length
    return sentencesOf(part)
      .map((one) => ({ ...one, words: wordsIn(one.text) }))
      .filter(({ text: one, words }) => words > mostWords && isProse(one))
      .map(({ at, text: sentence, words }) => ({
        id: 'sentence-length',
        at: start + at,
        say: `${words} words; write at most ${mostWords}`,
        found: sentence.replaceAll(/\s+/g, ' ').slice(0, 60),
      }))
  })
}
