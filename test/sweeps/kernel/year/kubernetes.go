// Prints the times of each expression on stdin, one a line, by the library of the CronJob controller.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/robfig/cron"
)

func main() {
	zone, err := time.LoadLocation(os.Getenv("TZ"))
	if err != nil {
		panic(err)
	}
	from, _ := strconv.ParseInt(os.Getenv("FROM"), 10, 64)
	to, _ := strconv.ParseInt(os.Getenv("TO"), 10, 64)
	lines := bufio.NewScanner(os.Stdin)
	for number := 0; lines.Scan(); number++ {
		schedule, err := cron.ParseStandard(lines.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		for at := schedule.Next(time.Unix(from, 0).In(zone)); at.Unix() < to && !at.IsZero(); at = schedule.Next(at) {
			fmt.Println(at.Unix(), number)
		}
	}
}
