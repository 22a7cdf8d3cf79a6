package machine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/simulation/karmada"
)

func TestMain(m *testing.M) {
	if os.Getenv("KLOG") == "" {
		klog.SetLogger(logr.Discard())
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // worlds are small and short-lived
	}
	os.Exit(m.Run())
}

// day is what happens between two quiet moments.
type day []timed

// timed is a step, and how long to pause after it.
type timed struct {
	step
	pause time.Duration
}

// GoString is how a failure prints it.
func (d day) GoString() string {
	var all []string
	for _, next := range d {
		all = append(all, next.what)
	}
	return strings.Join(all, "; ")
}

// days draws what happens in a world.
func (s *scene) days() *rapid.Generator[[]day] {
	return rapid.Custom(func(t *rapid.T) []day {
		days := make([]day, rapid.IntRange(1, 15).Draw(t, "days"))
		for i := range days {
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				days[i] = append(days[i], timed{s.drawStep(t), drawPause(t)})
			}
		}
		return days
	})
}

// inWorld runs something in a new world, in simulated time, and returns the error with what
// happened and the ends of the daemons' logs.
func inWorld(t *testing.T, s *scene, do func(*machine) error) (err error) {
	kubeconfig := newKubeconfig(t)
	synctest.Test(t, func(*testing.T) {
		m, broken := newMachine(s, kubeconfig)
		if err = broken; err == nil {
			err = do(m)
		}
		if err != nil {
			err = fmt.Errorf("%w\n%s\n%s\n%s", err, m.story(), m.reports(err.Error()), m.logs())
		}
		m.end()
	})
	return err
}

// reports are the statuses of the Works of the objects that a complaint names.
func (m *machine) reports(complaint string) string {
	var b strings.Builder
	for key, work := range m.works() {
		source := strings.Join(strings.Split(work.GetAnnotations()["karmada.target/source"], "/")[1:], " ")
		if strings.Contains(complaint, source) || strings.Contains(complaint, key) {
			status, _ := json.Marshal(work.Object["status"]) // as decoded from JSON
			fmt.Fprintf(&b, "Work %s of %s: generation %d, deleted %v, finalizers %v, status %s\n", key, source, work.GetGeneration(), work.GetDeletionTimestamp(), work.GetFinalizers(), status)
		}
	}
	return b.String()
}

// logs are the ends of the replicas' logs.
func (m *machine) logs() string {
	var b strings.Builder
	for _, r := range m.replicas {
		for i, p := range r.processes {
			if i >= len(r.processes)-2 {
				fmt.Fprintf(&b, "replica %s, process %d:\n", r.name, i+1)
				p.log.print(&b)
			}
		}
	}
	return b.String()
}

// live takes the steps of some days, and looks at the end of each.
func (m *machine) live(days []day) error {
	m.isRandom = !m.isMeasured // measure forgets what was
	for _, d := range days {
		for _, next := range d {
			m.log = append(m.log, fmt.Sprintf("%s %s", time.Now().Format(clockFormat), next.what))
			if err := next.do(m); err != nil && !(errors.Is(err, errLeaderless) && m.steps["fail"] > 0) {
				return fmt.Errorf("%s: %w", next.what, err)
			}
			time.Sleep(next.pause)
		}
		m.log = append(m.log, time.Now().Format(clockFormat)+" quiet")
		wrong := m.audit.busyWorks(len(d))
		if wrong = append(wrong, m.look()...); len(wrong) > 0 {
			return fmt.Errorf("%q", wrong)
		}
	}
	return nil
}

// tries is how often a sequence of steps that may fail is tried: goroutines are scheduled freely, so it
// may also pass.
const tries = 4

// duration is how long a scene is played: SIMULATION, or what makes all of them take about a minute on two cores.
func duration(t *testing.T) time.Duration {
	d, err := time.ParseDuration(cmp.Or(os.Getenv("SIMULATION"), "12s"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRandom lives in random worlds. The first failure ends all scenes but its own, which looks for a shorter sequence
// that fails.
func TestRandom(t *testing.T) {
	var failing atomic.Bool
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			d := duration(t)
			if s.isMeasured {
				d /= 10 // the others wait
			} else {
				t.Parallel()
			}
			var first, last error
			var failed string
			steps, worlds, began, generator := 0, 0, time.Now(), s.days()
			cpu, end := cpuTime(), began.Add(d)
			// taken is the time since the beginning, and what of a CPU this process has used: for all scenes that run.
			taken := func() string {
				return fmt.Sprintf("%.1f s (%.1f s of CPU)", time.Since(began).Seconds(), (cpuTime() - cpu).Seconds())
			}
			defer func() {
				if first != nil {
					t.Logf("the first failure, after %s: %v", failed, first)
					t.Logf("the shortest failure: %v", last)
				}
				t.Logf("%d steps in %d worlds, %s", steps, worlds, taken())
			}()
			isOver := func() bool { return first == nil && (time.Now().After(end) || failing.Load()) }
			for again := true; again && !isOver(); again = os.Getenv("SIMULATION") != "" { // otherwise the seed may be fixed, and the worlds the same
				rapid.Check(t, func(rt *rapid.T) {
					if isOver() {
						return
					}
					days, in := generator.Draw(rt, "days"), *s
					in.karmada = rapid.SampledFrom([]karmada.Version{karmada.V118, karmada.V119}).Draw(rt, "Karmada")
					for range tries {
						if err := inWorld(t, &in, func(m *machine) error { return m.live(days) }); err != nil {
							if first == nil {
								first, failed = err, taken()
								failing.Store(true)
							}
							last = err
							rt.Fatal("a world is not as the model says") // rapid only shrinks what fails with the same text
						}
						if first == nil {
							break
						}
					}
					worlds++
					for _, d := range days {
						steps += len(d)
					}
				})
			}
		})
	}
}

// scenes are what random worlds play with.
var scenes = map[string]*scene{
	"objects": onAPIServer, "waves": inWaves, "members": inMembers, "altered": altered(), "versions": inVersions, "definitions": withDefinitions, "fleet": inFleet, "breaker": withBreaker,
	"lag": onLaggingServers, "statuses": withStatuses, "faults": withFaults(), "clocks": withClocks(), "tenants": ofTenants, "together": together(), "followers": withFollowers(), "sighted": sighted, "hostile": besideAgent(onAPIServer), "hostile in waves": inWavesBefore(),
}

// allStories are those of all files.
func allStories() map[string]func(*machine) error {
	all := map[string]func(*machine) error{}
	for _, some := range []map[string]func(*machine) error{stories, faults, leaderships, breakers, commands, ownership, statuses, configurations, bounds} {
		maps.Copy(all, some)
	}
	return all
}

// sceneOf is the scene of a story that is not for onAPIServer.
var sceneOf = map[string]*scene{
	"WatchStartsOnAServerThatLags": onLaggingServers, "LeaderHasSeenAFinalizerLiveOnly": onLaggingServers, "RecreatedThenAwayDuringARestart": withStatuses,
	"AdmissionUndoesWhatAWaveIsGiven": altered(), "KarmadaStandsStillInWaves": inWaves, "CanaryIsNotAskedForForAMoment": inWaves, "EventsMayBeReadAgain": inWaves, "ContentTakesClustersAway": inWaves, "CanaryFailsUnseen": inWaves, "CanaryGoesUnseen": inWaves, "CanaryIsHeld": inWaves, "PlaceIsTakenUnseen": inWaves, "UnderWayIsEdited": inWaves, "RevertedDuringSlowReads": inWaves, "ForbiddenDuringSlowReads": inWaves, "ReservedDuringSlowReads": inWaves, "PreviousIsUnderWay": inWaves, "OurDeletionIsAnsweredLate": inWaves, "UnderWayIsDeleted": inWaves, "CanaryOfALimitedWaveIsNotAskedFor": inWaves, "CanaryIsNotAskedForWhileItIsWritten": inWaves,
	"ResumedBeforeItsTurn": inWaves, "ResumedWithTheContent": inWaves, "JoinsForTheDying": inWaves, "JoinsDuringTheBake": inWaves, "DeletedWhileTheCanaryIsNotAskedFor": inWaves, "CanaryIsNotAskedForAtFirst": inWaves,
	"RejoinsWhileWorksLag": inWaves, "RejoinsWhileClustersLag": inWaves, "RejoinsBesideASibling": inWaves, "DeletedWhileAnAnnotationIsWrong": inWaves, "DeletedWhileClustersAreListed": inWaves, "OthersChangeDuringSlowReads": inFleet, "LastLeaderDeletedIt": inWaves, "RefusedInALaterWave": inWaves, "RefusedBesideAWake": inWaves, "DeletedWhileNoOneLooks": inWaves, "SuspendedCannotBeWritten": inWaves,
	"LeftoverBindingInAnotherVersion": newToVersions, "UnplacedIsToldOnce": inFleet, "LeadsAFleetThatReports": inFleet, "EventsAreInAnotherEtcd": inWaves, "EventsAreInAYoungerEtcd": inWaves, "ConflictsAreToldOnce": inFleet, "ConflictInALaterWave": inWaves, "LeftoverBindingInWaves": inWaves, "LeftoverBindingOfASuspended": inWaves, "LeftoverBindingOfAFailing": inWaves, "DeletedByHandThenNotAskedFor": inWaves, "CanaryFlapsWhileClustersAreListedAgain": inWaves, "OurDeletionIsLost": inWaves, "FailedIsWhatIsStuck": inWaves, "SkippedIsTold": inWaves, "CanaryIsNotListed": inWaves, "RecreatedInWaves": inWaves, "DeadlineIsOver": inWaves, "NewerVersionIsPreferred": inVersions, "NewOneInVersions": inVersions, "StandbyBeganInAnotherVersion": newToVersions, "WorksAreListedShortInVersions": newToVersions, "AdmissionAltersSomeInWaves": altered(), "AlteredAndOverriddenByAnother": altered(), "AlterationEndsInWaves": altered(), "NullsAreContent": inVersions, "AlterationEndsThenDeleted": altered(), "AlterationEndsThenOverridden": altered(), "AlteredThenInWaves": altered(), "AlteredAndEditedByHand": altered(), "AlteredAndStandsStill": altered(), "AlteredWithTwoAway": altered(), "AlteredContentFailsInALimitedWave": altered(), "AlterationEndsThenPreserved": altered(), "RestoredSuspendedThenReverted": inWaves,
}

// TestStories tells each story in a world of its own.
func TestStories(t *testing.T) {
	for name, told := range allStories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := inWorld(t, cmp.Or(sceneOf[name], onAPIServer), told); err != nil {
				t.Error(err)
			}
		})
	}
}
