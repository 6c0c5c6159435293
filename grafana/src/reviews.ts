import type { Board } from './board.ts'
import { gauge, most, observed, quantile, rate, sum } from './queries.ts'

const APPROVED = 'decision="approve"'
/** Too short to read a call: a bucket of the table. */
const TOO_FAST = 'le="2.5"'

export const REVIEWS: Board = {
  uid: 'countersign-reviews',
  title: 'Countersign / Reviews',
  description: 'Who waits for whom, how long people take, and whether they look.',
  rows: [
    {
      title: 'Queue',
      panels: [
        {
          title: 'Waiting by risk',
          description: 'Threads that wait for people, by assessed risk.',
          unit: 'short',
          stacked: true,
          queries: [[most(gauge('pending'), 'risk'), '{{risk}}']],
        },
        {
          title: 'Oldest waiting by risk',
          description:
            'Age of the oldest waiting thread. What nobody decides is rejected when its time is over.',
          unit: 's',
          limits: [3_600, 14_400],
          queries: [[most(gauge('oldestPending'), 'risk'), '{{risk}}']],
        },
        {
          title: 'Opened and ended',
          description: 'When more are opened than end, the queue grows.',
          unit: 'ops',
          queries: [
            [sum(rate('evaluations', 'decision="review"')), 'opened'],
            [sum(observed('reviewSeconds', '_count')), 'ended'],
          ],
        },
      ],
    },
    {
      title: 'Who is overloaded',
      panels: [
        {
          title: 'Waiting for each group',
          description: 'Of the 200 threads that wait longest: those with an empty seat for the group.',
          unit: 'short',
          queries: [[most(gauge('groupWaiting'), 'group'), '{{group}}']],
        },
        {
          title: 'Waiting for each person of a group',
          description:
            'The same, shared among the reviewers of the group. The highest line needs help first; no line: the group has nobody in the directory.',
          unit: 'short',
          queries: [
            [
              `${most(gauge('groupWaiting'), 'group')} / ${most(gauge('groupReviewers'), 'group')}`,
              '{{group}}',
            ],
          ],
        },
        {
          title: 'Reminders and escalations',
          description: 'Nobody decided in the time that policy gives for it.',
          unit: 'ops',
          queries: [[sum(rate('announcements'), 'kind'), '{{kind}}']],
        },
      ],
    },
    {
      title: 'Time to a decision',
      panels: [
        {
          title: 'Time to a decision, median',
          description: 'From the submission of a revision, by risk.',
          unit: 's',
          exemplars: true,
          queries: [
            [
              quantile(0.5, 'reviewSeconds', ['risk'], 'verdict=~"approved|rejected|changes_requested"'),
              '{{risk}}',
            ],
          ],
        },
        {
          title: 'Time to a decision, p90',
          description: 'One in ten agents waits longer than this.',
          unit: 's',
          exemplars: true,
          queries: [
            [
              quantile(0.9, 'reviewSeconds', ['risk'], 'verdict=~"approved|rejected|changes_requested"'),
              '{{risk}}',
            ],
          ],
        },
        {
          title: 'How reviews end',
          description:
            'expired: nobody decided in time. uncollected: approved, but the agent never came. frozen: stopped by an administrator.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(observed('reviewSeconds', '_count'), 'verdict'), '{{verdict}}']],
        },
      ],
    },
    {
      title: 'Quality of reviews',
      panels: [
        {
          title: 'Approvals that came too fast',
          description:
            'Share of approvals within 2.5 s of seeing the call. Nobody reads that fast: people click, or a program votes.',
          unit: 'percentunit',
          limits: [0.05, 0.2],
          queries: [
            [
              `${sum(observed('attention', '_bucket', APPROVED, TOO_FAST))} / ${sum(observed('attention', '_count', APPROVED))}`,
              'within 2.5 s',
            ],
          ],
        },
        {
          title: 'Time people look',
          description: 'Longest time a voter can have looked at what was voted on, median.',
          unit: 's',
          exemplars: true,
          queries: [[quantile(0.5, 'attention', ['decision']), '{{decision}}']],
        },
        {
          title: 'Votes that are no approval',
          description:
            'Share of votes that reject or ask for changes. Near nothing for long: either policy asks too often, or nobody looks.',
          unit: 'percentunit',
          queries: [
            [
              `${sum(rate('votes', 'decision!="approve"'))} / ${sum(rate('votes'))}`,
              'reject or request changes',
            ],
          ],
        },
        {
          title: 'Votes',
          description: 'What people said about the calls that were held for them.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('votes'), 'decision'), '{{decision}}']],
        },
        {
          title: 'Votes by sign-in',
          description: 'How voters proved who they are. A key may be a program.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('votes'), 'via'), '{{via}}']],
        },
        {
          title: 'Revisions',
          description: 'Changed actions that agents sent in, and those that were refused.',
          unit: 'ops',
          queries: [[sum(rate('revisions'), 'result'), '{{result}}']],
        },
        {
          title: 'Withdrawals',
          description: 'Calls that agents withdrew before they ran, by the state that their thread was in.',
          unit: 'ops',
          queries: [[sum(rate('withdrawals'), 'was'), '{{was}}']],
        },
      ],
    },
    {
      title: 'Proofs',
      panels: [
        {
          title: 'Tokens handed out',
          description: 'Approvals that agents collected.',
          unit: 'ops',
          queries: [[sum(rate('tokensMinted')), 'minted']],
        },
        {
          title: 'Tokens redeemed and refused',
          description:
            'used: the same proof came twice. An agent that retries after a lost answer does that, and so does a thief.',
          unit: 'ops',
          queries: [[sum(rate('tokenValidations'), 'result'), '{{result}}']],
        },
        {
          title: 'Approvals that no longer held',
          description:
            'Why an approval was not handed out: policy, people or the store had changed, or it was frozen.',
          unit: 'ops',
          queries: [[sum(rate('revocations'), 'reason'), '{{reason}}']],
        },
      ],
    },
    {
      title: 'Console',
      panels: [
        {
          title: 'Sign-ins',
          description: 'Those that worked, by link or single sign-on.',
          unit: 'ops',
          width: 8,
          queries: [[sum(rate('signIns', 'result="ok"'), 'via'), '{{via}}']],
        },
        {
          title: 'Sign-ins that failed',
          description:
            'provider: the identity provider cannot be reached or is not set up as we think. refused: a link that is none, or was used.',
          unit: 'ops',
          width: 8,
          queries: [[sum(rate('signIns', 'result!="ok"'), 'via', 'result'), '{{via}} {{result}}']],
        },
        {
          title: 'Consoles that follow the queue',
          description: 'Open streams. None while something critical waits: nobody looks.',
          unit: 'short',
          width: 8,
          queries: [[sum(gauge('streamsOpen')), 'streams']],
        },
      ],
    },
  ],
}
