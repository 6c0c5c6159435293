import type { Board } from './board.ts'
import { gauge, most, observed, quantile, rate, sum } from './queries.ts'

const APPROVED = 'decision="approve"'
/** Too short to read a call: a bucket of the table. */
const TOO_FAST = 'le="2.5"'

export const REVIEWS: Board = {
  uid: 'countersign-reviews',
  title: 'Countersign / Reviews',
  description: 'The queue, the load of reviewers, their speed and their attention.',
  rows: [
    {
      title: 'Queue',
      panels: [
        {
          title: 'Waiting by risk',
          description: 'Threads that wait for reviewers, by assessed risk.',
          unit: 'short',
          stacked: true,
          queries: [[most(gauge('pending'), 'risk'), '{{risk}}']],
        },
        {
          title: 'Oldest waiting by risk',
          description:
            'Age of the oldest waiting thread. A thread that no reviewer decides in time is rejected.',
          unit: 's',
          limits: [3_600, 14_400],
          queries: [[most(gauge('oldestPending'), 'risk'), '{{risk}}']],
        },
        {
          title: 'Outcomes of calls',
          description: 'What agents reported, and allowed calls whose expected outcome is late.',
          unit: 'short',
          queries: [
            [sum(rate('outcomes'), 'outcome'), '{{outcome}} per second'],
            [most(gauge('unreported')), 'never reported'],
          ],
        },
        {
          title: 'Opened and ended',
          description: 'The queue grows while more threads open than end.',
          unit: 'ops',
          queries: [
            [sum(rate('evaluations', 'decision="review"')), 'opened'],
            [sum(observed('reviewSeconds', '_count')), 'ended'],
          ],
        },
      ],
    },
    {
      title: 'Load of reviewers',
      panels: [
        {
          title: 'Waiting for each group',
          description: 'Threads with an empty seat for the group, among the 200 that wait longest.',
          unit: 'short',
          queries: [[most(gauge('groupWaiting'), 'group'), '{{group}}']],
        },
        {
          title: 'Waiting for each reviewer of a group',
          description:
            'Waiting threads of a group, divided by the number of its reviewers. The highest line needs help first. A group without a line has no reviewer in the directory.',
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
          description: 'No reviewer decided in the time that policy allows.',
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
          description: 'One in ten calls waits longer than this.',
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
          title: 'Ends of reviews',
          description:
            'expired: no reviewer decided in time. uncollected: approved, but the agent never polled. frozen: stopped by an administrator.',
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
          title: 'Hasty approvals',
          description:
            'Share of approvals within 2.5 s of seeing the call. That is too fast to read: a reviewer only clicks, or a program votes.',
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
          title: 'Attention of reviewers',
          description: 'Upper bound of the time that a reviewer looked at the call before the vote, median.',
          unit: 's',
          exemplars: true,
          queries: [[quantile(0.5, 'attention', ['decision']), '{{decision}}']],
        },
        {
          title: 'Votes against',
          description:
            'Share of votes that reject or request changes. If it stays near zero, policy asks too often, or reviewers do not look.',
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
          description: 'Votes of reviewers on held calls.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('votes'), 'decision'), '{{decision}}']],
        },
        {
          title: 'Votes by sign-in',
          description: 'Votes by the kind of sign-in. A key may belong to a program.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('votes'), 'via'), '{{via}}']],
        },
        {
          title: 'Revisions',
          description: 'Revisions from agents, accepted and rejected.',
          unit: 'ops',
          queries: [[sum(rate('revisions'), 'result'), '{{result}}']],
        },
        {
          title: 'Withdrawals',
          description: 'Calls that agents withdrew before they ran, by the status of their thread.',
          unit: 'ops',
          queries: [[sum(rate('withdrawals'), 'was'), '{{was}}']],
        },
        {
          title: 'Commands without their files',
          description: 'Held calls with a command whose contract has no files, by tool.',
          unit: 'ops',
          queries: [[sum(rate('filesUnbound'), 'tool'), '{{tool}}']],
        },
      ],
    },
    {
      title: 'Proofs',
      panels: [
        {
          title: 'Proofs handed out',
          description:
            'minted: approvals that agents collected. reissued: proofs that replaced one whose answer was lost.',
          unit: 'ops',
          queries: [
            [sum(rate('tokensMinted')), 'minted'],
            [sum(rate('tokensReissued')), 'reissued'],
          ],
        },
        {
          title: 'Proofs redeemed and refused',
          description:
            'used: the same proof arrived twice, from an agent that lost the first answer, or from a thief.',
          unit: 'ops',
          queries: [[sum(rate('tokenValidations'), 'result'), '{{result}}']],
        },
        {
          title: 'Voided approvals',
          description:
            'Approvals that were not handed out, by reason: policy, reviewers or the store had changed, or the call was frozen.',
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
          description: 'Successful sign-ins, by link or single sign-on.',
          unit: 'ops',
          width: 8,
          queries: [[sum(rate('signIns', 'result="ok"'), 'via'), '{{via}}']],
        },
        {
          title: 'Failed sign-ins',
          description:
            'provider: the identity provider is unreachable, or not set up as configured. refused: an invalid or used link.',
          unit: 'ops',
          width: 8,
          queries: [[sum(rate('signIns', 'result!="ok"'), 'via', 'result'), '{{via}} {{result}}']],
        },
        {
          title: 'Open consoles',
          description:
            'Open streams of changes. Zero while a critical call waits means that no reviewer is looking.',
          unit: 'short',
          width: 8,
          queries: [[sum(gauge('streamsOpen')), 'streams']],
        },
      ],
    },
  ],
}
